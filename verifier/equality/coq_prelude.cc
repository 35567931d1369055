// SPDX-License-Identifier: Apache-2.0
#include "verifier/equality/coq_text.h"

namespace egret::verifier {

// The lemmas are proven in the file itself. The tactic rewrites whatever Coq finds equal: indices
// by linear arithmetic, selections by deciding their guards or by both cases, sums and extrema
// element by element, and what is left by the laws of fields and of order.
std::string_view coq_prelude() {
  return R"coq((* Sums, products and extrema over ranges of indices, and the tactic that shows two elements equal. *)
From Coq Require Export ZArith Reals Bool.
From Coq Require Export Lia Lra ZifyBool Setoid Morphisms.
Open Scope R_scope.
Ltac Zify.zify_post_hook ::= Z.to_euclidean_division_equations.

Definition less (a b : R) : bool := if Rlt_dec a b then true else false.
Definition less_equal (a b : R) : bool := if Rle_dec a b then true else false.
Definition equal (a b : R) : bool := if Req_EM_T a b then true else false.

(* Whole exponents have a power for each base, others for those that are not negative. *)
Definition power (x y : R) : R :=
  if Req_EM_T (IZR (Int_part y)) y then powerRZ x (Int_part y)
  else if Req_EM_T x 0 then 0 else exp (y * ln x).

(* Over 0 <= k < n. *)
Fixpoint sum_of (n : nat) (f : Z -> R) : R :=
  match n with O => 0 | S m => sum_of m f + f (Z.of_nat m) end.
Definition Sum (n : Z) (f : Z -> R) : R := sum_of (Z.to_nat n) f.
Fixpoint product_of (n : nat) (f : Z -> R) : R :=
  match n with O => 1 | S m => product_of m f * f (Z.of_nat m) end.
Definition Product (n : Z) (f : Z -> R) : R := product_of (Z.to_nat n) f.

(* Over those at which the guard holds; 0 if there are none, which no definition admits. *)
Fixpoint extremum_of (e : R -> R -> R) (n : nat) (g : Z -> bool) (f : Z -> R) : option R :=
  match n with
  | O => None
  | S m =>
    let rest := extremum_of e m g f in
    if g (Z.of_nat m)
    then Some (match rest with None => f (Z.of_nat m) | Some r => e r (f (Z.of_nat m)) end)
    else rest
  end.
Definition extremum (e : R -> R -> R) (n : Z) (g : Z -> bool) (f : Z -> R) : R :=
  match extremum_of e (Z.to_nat n) g f with None => 0 | Some r => r end.
Definition Maximum := extremum Rmax.
Definition Minimum := extremum Rmin.

Lemma sum_of_equal : forall n f g, (forall k, (0 <= k < Z.of_nat n)%Z -> f k = g k) -> sum_of n f = sum_of n g.
Proof. induction n; intros f g H; simpl; auto. rewrite (IHn f g), (H (Z.of_nat n)); auto; intros; try apply H; lia. Qed.
Lemma Sum_equal : forall n m f g, n = m -> (forall k, (0 <= k < n)%Z -> f k = g k) -> Sum n f = Sum m g.
Proof. intros n m f g E H; subst; unfold Sum; apply sum_of_equal; intros; apply H; lia. Qed.
Lemma product_of_equal : forall n f g, (forall k, (0 <= k < Z.of_nat n)%Z -> f k = g k) -> product_of n f = product_of n g.
Proof. induction n; intros f g H; simpl; auto. rewrite (IHn f g), (H (Z.of_nat n)); auto; intros; try apply H; lia. Qed.
Lemma Product_equal : forall n m f g, n = m -> (forall k, (0 <= k < n)%Z -> f k = g k) -> Product n f = Product m g.
Proof. intros n m f g E H; subst; unfold Product; apply product_of_equal; intros; apply H; lia. Qed.
Lemma extremum_of_equal : forall e n g h a b,
  (forall k, (0 <= k < Z.of_nat n)%Z -> g k = h k) -> (forall k, (0 <= k < Z.of_nat n)%Z -> g k = true -> a k = b k) ->
  extremum_of e n g a = extremum_of e n h b.
Proof.
  induction n; intros g h a b G A; simpl; auto.
  rewrite (IHn g h a b); try (intros; apply G; lia); try (intros; apply A; auto; lia).
  rewrite <- (G (Z.of_nat n)) by lia. destruct (g (Z.of_nat n)) eqn:E; auto.
  rewrite (A (Z.of_nat n)); auto; lia.
Qed.
Lemma extremum_equal : forall e n m g h a b, n = m ->
  (forall k, (0 <= k < n)%Z -> g k = h k) -> (forall k, (0 <= k < n)%Z -> g k = true -> a k = b k) ->
  extremum e n g a = extremum e m h b.
Proof.
  intros e n m g h a b E G A; subst; unfold extremum.
  rewrite (extremum_of_equal e (Z.to_nat m) g h a b); auto; intros; [apply G | apply A]; auto; lia.
Qed.

Lemma Sum_plus : forall n f g, Sum n (fun k => f k + g k) = Sum n f + Sum n g.
Proof. intros n f g; unfold Sum; induction (Z.to_nat n); simpl; [ring | rewrite IHn0; ring]. Qed.
Lemma Sum_minus : forall n f g, Sum n (fun k => f k - g k) = Sum n f - Sum n g.
Proof. intros n f g; unfold Sum; induction (Z.to_nat n); simpl; [ring | rewrite IHn0; ring]. Qed.
Lemma Sum_opp : forall n f, Sum n (fun k => - f k) = - Sum n f.
Proof. intros n f; unfold Sum; induction (Z.to_nat n); simpl; [ring | rewrite IHn0; ring]. Qed.
Lemma Sum_times_left : forall n c f, Sum n (fun k => c * f k) = c * Sum n f.
Proof. intros n c f; unfold Sum; induction (Z.to_nat n); simpl; [ring | rewrite IHn0; ring]. Qed.
Lemma Sum_times_right : forall n c f, Sum n (fun k => f k * c) = Sum n f * c.
Proof. intros n c f; unfold Sum; induction (Z.to_nat n); simpl; [ring | rewrite IHn0; ring]. Qed.
Lemma Sum_over : forall n c f, Sum n (fun k => f k / c) = Sum n f / c.
Proof. intros; unfold Rdiv; apply Sum_times_right. Qed.
Lemma Sum_zero : forall n, Sum n (fun _ => 0) = 0.
Proof. intros n; unfold Sum; induction (Z.to_nat n); simpl; [ring | rewrite IHn0; ring]. Qed.
Lemma Sum_one : forall f, Sum 1 f = f 0%Z.
Proof. intros; unfold Sum; simpl; ring. Qed.
Lemma Sum_swap : forall n m f, Sum n (fun i => Sum m (fun j => f i j)) = Sum m (fun j => Sum n (fun i => f i j)).
Proof.
  intros n m f; unfold Sum at 1 4; induction (Z.to_nat n); simpl.
  - symmetry; apply Sum_zero.
  - rewrite IHn0, <- Sum_plus; reflexivity.
Qed.
Lemma sum_of_split : forall n m f, sum_of (n + m) f = sum_of n f + sum_of m (fun k => f (Z.of_nat n + k)%Z).
Proof.
  intros n m f; induction m; simpl.
  - rewrite Nat.add_0_r; ring.
  - rewrite Nat.add_succ_r; simpl; rewrite IHm, Nat2Z.inj_add; ring.
Qed.
Lemma Sum_split : forall n m f, (0 <= n)%Z -> (0 <= m)%Z ->
  Sum (n + m) f = Sum n f + Sum m (fun k => f (n + k)%Z).
Proof. intros n m f N M; unfold Sum; rewrite Z2Nat.inj_add by auto; rewrite sum_of_split, Z2Nat.id by auto; reflexivity. Qed.
Lemma Sum_function : forall n f g, (forall k, f k = g k) -> Sum n f = Sum n g.
Proof. intros; apply Sum_equal; auto. Qed.

Global Instance Sum_proper : Proper (eq ==> pointwise_relation Z eq ==> eq) Sum.
Proof. intros n m E f g H; subst; apply Sum_function; exact H. Qed.

(* Roots, powers and odd functions. *)
Lemma sqrt_of_square : forall x, sqrt (x * x) = Rmax x (- x).
Proof.
  intros x; change (x * x) with (Rsqr x); rewrite sqrt_Rsqr_abs; unfold Rabs, Rmax.
  destruct (Rcase_abs x); destruct (Rle_dec x (- x)); lra.
Qed.
Lemma over_root : forall x, 0 <= x -> x / sqrt x = sqrt x.
Proof.
  intros x P; destruct (Req_dec x 0) as [Z | N].
  - rewrite Z, sqrt_0; unfold Rdiv; ring.
  - assert (0 < sqrt x) by (apply sqrt_lt_R0; lra).
    apply Rmult_eq_reg_r with (sqrt x); [ | lra ].
    unfold Rdiv; rewrite Rmult_assoc, Rinv_l by lra; rewrite sqrt_sqrt by assumption; ring.
Qed.
Lemma Int_part_IZR : forall n, Int_part (IZR n) = n.
Proof.
  intros n; destruct (base_Int_part (IZR n)) as [A B].
  assert (C : IZR (n - 1) < IZR (Int_part (IZR n))) by (rewrite minus_IZR; lra).
  apply le_IZR in A; apply lt_IZR in C; lia.
Qed.
Lemma power_whole : forall x n, power x (IZR n) = powerRZ x n.
Proof. intros x n; unfold power; rewrite Int_part_IZR; destruct (Req_EM_T (IZR n) (IZR n)); congruence. Qed.
Lemma power_half : forall x, 0 <= x -> power x (1 / 2) = sqrt x.
Proof.
  intros x P; unfold power; destruct (Req_EM_T (IZR (Int_part (1 / 2))) (1 / 2)) as [E | _].
  - exfalso; assert (D : IZR (2 * Int_part (1 / 2)) = IZR 1) by (rewrite mult_IZR; lra).
    apply eq_IZR in D; lia.
  - destruct (Req_EM_T x 0) as [Z | N].
    + rewrite Z, sqrt_0; reflexivity.
    + replace (1 / 2) with (/ 2) by lra; apply (Rpower_sqrt x); lra.
Qed.
Lemma sinh_opp : forall x, sinh (- x) = - sinh x.
Proof. intros x; unfold sinh; rewrite Ropp_involutive; field. Qed.
Lemma cosh_opp : forall x, cosh (- x) = cosh x.
Proof. intros x; unfold cosh; rewrite Ropp_involutive; field. Qed.
Lemma tanh_opp : forall x, tanh (- x) = - tanh x.
Proof. intros x; unfold tanh; rewrite sinh_opp, cosh_opp; unfold Rdiv; ring. Qed.

(* Integers: linear arithmetic, with products, and with quotients by sizes. *)
Ltac quotients := repeat first
  [ rewrite Z.mod_eq by nia | rewrite Z.div_add_l by nia | rewrite Z.div_add by nia
  | rewrite Z.div_mul by nia | rewrite Z.div_small by nia ].
Ltac indices := first [ lia | timeout 3 nia | progress quotients; first [ lia | timeout 3 nia ] ].
Ltac truth := first [ lia | timeout 2 nia ].

(* Selections whose guards do not depend on what a sum or an extremum binds. *)
Ltac decide_guards := cbv beta; repeat (match goal with
  | |- context [if ?b then _ else _] =>
    lazymatch b with
    | true => idtac
    | false => idtac
    | _ => first [ replace b with true by (symmetry; truth) | replace b with false by (symmetry; truth)
                 | let E := fresh "E" in destruct b eqn:E ]
    end
  end; cbv beta iota).

(* Numbers: the laws of fields, then those of order by cases. *)
Ltac reciprocals := repeat first
  [ rewrite Rinv_mult | rewrite Rinv_inv | rewrite Rinv_1 | rewrite Rinv_opp | rewrite exp_plus | rewrite exp_Ropp
  | rewrite exp_0 | rewrite ln_exp | rewrite exp_ln by assumption ].
(* A number is not 0 if another that is not 0 would be 0 with it. *)
Ltac nonzero := repeat split; first
  [ assumption | lra
  | let E := fresh "E" in intro E;
    match goal with H : _ <> 0 |- _ => apply H; unfold Rdiv; rewrite ?E; solve [ring] end ].
Ltac numbers := first
  [ reflexivity | ring | solve [field] | solve [field; nonzero] | solve [unfold Rdiv, Rminus; reciprocals; ring]
  | solve [exfalso; lia] | solve [exfalso; timeout 3 nia] ].
(* What is known of the elements and of functions of them joins the hypotheses, once each. *)
Ltac learn fact :=
  let type := type of fact in
  lazymatch goal with H : type |- _ => fail | _ => pose proof fact end.
Ltac positive := first [ assumption | lra | nra ].
Ltac known_signs := repeat match goal with
  | |- context [exp ?a] => learn (exp_pos a)
  | |- context [sqrt ?a] => learn (sqrt_pos a)
  | |- context [?a / ?b] =>
    lazymatch goal with H : 0 < a / b |- _ => fail | _ =>
      assert (0 < a / b) by (apply Rdiv_lt_0_compat; positive) end
  | H : forall x : Z, @?P x |- context [?f ?a] => is_var f; learn (H a)
  | H : forall x y : Z, @?P x y |- context [?f ?a ?b] => is_var f; learn (H a b)
  | H : forall x y z : Z, @?P x y z |- context [?f ?a ?b ?c] => is_var f; learn (H a b c)
  | H : forall x y z w : Z, @?P x y z w |- context [?f ?a ?b ?c ?d] => is_var f; learn (H a b c d)
  end.
(* Roots of squares, of 0 and of 1, quotients that are 1, powers, and signs out of functions. *)
Ltac values := repeat (first
  [ rewrite sqrt_of_square | rewrite over_root by assumption | rewrite power_half by assumption
  | rewrite power_whole; cbv beta iota delta [powerRZ pow Pos.to_nat Pos.iter_op Nat.add]
  | rewrite tanh_opp | rewrite sinh_opp | rewrite cosh_opp | rewrite sin_neg | rewrite cos_neg
  | rewrite atan_opp
  | match goal with
    | |- context [?a / ?a] => replace (a / a) with 1 by (field; nonzero)
    | |- context [?a - ?a] => replace (a - a) with 0 by ring
    | |- context [sqrt 0] => rewrite sqrt_0
    | |- context [sqrt 1] => rewrite sqrt_1
    | |- context [ln (?a * ?b)] => known_signs; rewrite (ln_mult a b) by positive; repeat rewrite ln_exp
    end ]).
(* Truth values are 0 or 1. *)
Ltac truth_values := repeat match goal with
  | H : ?a = 0 \/ ?a = 1 |- _ =>
    lazymatch goal with
    | E : a = 0 |- _ => fail
    | E : a = 1 |- _ => fail
    | _ => let E := fresh "E" in destruct H as [E | E]; try rewrite E
    end
  end.
Ltac by_order :=
  known_signs; truth_values;
  unfold less, less_equal, equal, Rmax, Rmin, Rabs in *;
  repeat (match goal with
  | |- context [Rle_dec ?a ?b] => destruct (Rle_dec a b)
  | |- context [Rlt_dec ?a ?b] => destruct (Rlt_dec a b)
  | |- context [Req_EM_T ?a ?b] => destruct (Req_EM_T a b)
  | H : context [Rle_dec ?a ?b] |- _ => destruct (Rle_dec a b)
  | H : context [Rlt_dec ?a ?b] |- _ => destruct (Rlt_dec a b)
  | H : context [Req_EM_T ?a ?b] |- _ => destruct (Req_EM_T a b)
  end; cbv beta iota in *; try discriminate);
  first [ reflexivity | lra | congruence | timeout 10 nra ].

(* Sums of products: factors into the sums, then sums of sums apart. *)
Ltac inward := repeat (first
  [ setoid_rewrite Rmult_plus_distr_l | setoid_rewrite Rmult_plus_distr_r
  | setoid_rewrite Rmult_minus_distr_l | setoid_rewrite Rmult_minus_distr_r
  | setoid_rewrite <- Sum_times_left | setoid_rewrite <- Sum_times_right ]; cbv beta).
Ltac apart := repeat first [ setoid_rewrite Sum_plus | setoid_rewrite Sum_minus | setoid_rewrite Sum_opp ].

Ltac is_element x := lazymatch type of x with R => idtac end.
Ltac is_index x := lazymatch type of x with Z => idtac end.
Ltac replaced a b := tryif constr_eq a b then fail else replace a with b by (f_equal; indices).
Ltac is_function f :=
  first [ is_var f | constr_eq f exp | constr_eq f ln | constr_eq f sqrt | constr_eq f Rinv ].

Ltac show_equal_to depth :=
  decide_guards;
  first
    [ solve [numbers]
    | solve [progress values; first [numbers | by_order]]
    | solve [merge_equals depth; numbers]
    | solve [by_order]
    | solve [merge_equals depth; by_order]
    | solve [progress (repeat rewrite Sum_split by indices); merge_equals depth; numbers]
    | solve [progress apart; merge_equals depth; numbers]
    | solve [progress inward; apart; merge_equals depth; numbers]
    | solve [progress inward; apart; rewrite Sum_swap; merge_equals depth; numbers] ]
(* Elements, function values, sums and extrema that are equal become the same term. *)
with merge_equals depth := lazymatch depth with
  | S ?less_deep =>
  repeat match goal with
  | |- context [?f ?a] => is_var f; is_index a; is_element (f a);
    match goal with |- context [f ?b] => replaced (f a) (f b) end
  | |- context [?f ?a1 ?a2] => is_var f; is_index a1; is_element (f a1 a2);
    match goal with |- context [f ?b1 ?b2] => replaced (f a1 a2) (f b1 b2) end
  | |- context [?f ?a1 ?a2 ?a3] => is_var f; is_index a1; is_element (f a1 a2 a3);
    match goal with |- context [f ?b1 ?b2 ?b3] => replaced (f a1 a2 a3) (f b1 b2 b3) end
  | |- context [?f ?a1 ?a2 ?a3 ?a4] => is_var f; is_index a1; is_element (f a1 a2 a3 a4);
    match goal with |- context [f ?b1 ?b2 ?b3 ?b4] => replaced (f a1 a2 a3 a4) (f b1 b2 b3 b4) end
  | |- context [?f ?a1 ?a2 ?a3 ?a4 ?a5] => is_var f; is_index a1; is_element (f a1 a2 a3 a4 a5);
    match goal with |- context [f ?b1 ?b2 ?b3 ?b4 ?b5] =>
      replaced (f a1 a2 a3 a4 a5) (f b1 b2 b3 b4 b5) end
  | |- context [IZR ?a] => match goal with |- context [IZR ?b] => replaced (IZR a) (IZR b) end
  | |- context [Sum ?n ?f] => match goal with |- context [Sum ?m ?g] =>
      tryif constr_eq (Sum n f) (Sum m g) then fail
      else replace (Sum n f) with (Sum m g) by (apply Sum_equal; [indices | intros; show_equal_to less_deep]) end
  | |- context [Product ?n ?f] => match goal with |- context [Product ?m ?g] =>
      tryif constr_eq (Product n f) (Product m g) then fail
      else replace (Product n f) with (Product m g)
        by (apply Product_equal; [indices | intros; show_equal_to less_deep]) end
  | |- context [extremum ?e ?n ?g ?f] => match goal with |- context [extremum e ?m ?h ?i] =>
      tryif constr_eq (extremum e n g f) (extremum e m h i) then fail
      else replace (extremum e n g f) with (extremum e m h i)
        by (apply extremum_equal; [indices | intros; cbv beta; first [reflexivity | indices]
                                  | intros; show_equal_to less_deep]) end
  | |- context [?f ?a] => is_function f; is_element a; is_element (f a);
    match goal with |- context [f ?b] =>
      tryif constr_eq a b then fail else replace (f a) with (f b) by (f_equal; show_equal_to less_deep) end
  | |- context [?f ?a ?c] => is_var f; is_element a; is_element (f a c);
    match goal with |- context [f ?b ?d] =>
      tryif constr_eq (f a c) (f b d) then fail
      else replace (f a c) with (f b d) by (f_equal; show_equal_to less_deep) end
  end
  | _ => idtac
  end.
Ltac show_equal := unfold Maximum, Minimum; show_equal_to 6%nat.
)coq";
}

}  // namespace egret::verifier
