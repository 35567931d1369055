#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several "hosts" on one machine: network namespaces on a bridge, each with a link of its own, and
# mpirun across them. Ranks of different hosts reach each other by TCP over these links alone.
#
#   scripts/virtual_hosts.sh up 4 1gbit [1ms]     four hosts; bits a second, and the delay of a link
#   scripts/virtual_hosts.sh run 8 build/release/bin/egret run plan.json --check
#   scripts/virtual_hosts.sh down
#
# Needs root, and a kernel with network namespaces, veth, bridges and tbf; a delay needs netem. What
# is missing is named, with exit code 7.
set -euo pipefail

prefix=egret
bridge=$prefix-br
network=10.87.0

missing() {
  echo "virtual_hosts: $*" >&2
  exit 7
}

names() { ip netns list | awk '{print $1}' | grep -E "^$prefix[0-9]+$" | sort -V || true; }

down() {
  for host in $(names); do
    ip netns del "$host"
    rm -rf "/etc/netns/$host"
  done
  for link in $(ip -o link show type veth | grep -oE "$bridge[0-9]+" || true); do
    ip link del "$link" 2>/dev/null || true
  done
  ip link del $bridge 2>/dev/null || true
}

shape() {  # HOST RATE DELAY
  local -a in=(ip netns exec "$1" tc qdisc add dev eth0)
  local parent=(root)
  if [ -n "$3" ]; then
    "${in[@]}" root handle 1: netem delay "$3" 2>/dev/null ||
      missing "this kernel has no netem (CONFIG_NET_SCH_NETEM): links cannot be delayed; leave the delay out"
    parent=(parent 1:)
  fi
  "${in[@]}" "${parent[@]}" handle 2: tbf rate "$2" burst 128kb latency 100ms 2>/dev/null ||
    missing "this kernel has no tbf (CONFIG_NET_SCH_TBF): links cannot be shaped"
}

up() {  # COUNT RATE [DELAY]
  [ "$(id -u)" = 0 ] || missing "network namespaces need root"
  down
  trap 'down' ERR EXIT
  ip link add $bridge type bridge 2>/dev/null || missing "this kernel has no bridges"
  ip link set $bridge up
  for ((i = 0; i < $1; ++i)); do
    local host=$prefix$i
    ip netns add "$host" 2>/dev/null || missing "this kernel or container has no network namespaces"
    ip link add $bridge$i type veth peer name eth0 netns "$host" 2>/dev/null ||
      missing "this kernel has no veth"
    ip link set $bridge$i master $bridge up
    ip -n "$host" addr add $network.$((i + 1))/24 dev eth0
    ip -n "$host" link set lo up
    ip -n "$host" link set eth0 up
    shape "$host" "$2" "${3:-}"
    mkdir -p "/etc/netns/$host"
    echo "127.0.0.1 localhost" >"/etc/netns/$host/hosts"
  done
  for host in $(names); do
    for ((i = 0; i < $1; ++i)); do
      echo "$network.$((i + 1)) $prefix$i" >>"/etc/netns/$host/hosts"
    done
  done
  trap - ERR EXIT
}

# Runs a command as a process of a host, which also has a name of its own.
on_host() {  # HOST COMMAND...
  local host=$1
  shift
  exec ip netns exec "$host" unshare --uts sh -c 'hostname "$0"; exec "$@"' "$host" "$@"
}

run() {  # RANKS COMMAND...
  local ranks=$1
  shift
  local -a hosts
  mapfile -t hosts < <(names)
  [ ${#hosts[@]} -gt 0 ] || missing "there are no hosts: run '$0 up COUNT RATE' first"
  local slots=$(((ranks + ${#hosts[@]} - 1) / ${#hosts[@]}))
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  on_host "${hosts[0]}" mpirun -n "$ranks" --map-by ppr:$slots:node --oversubscribe --bind-to none \
    --host "$(printf "%s:$slots\n" "${hosts[@]}" | paste -sd,)" \
    --mca plm_rsh_agent "$(realpath "$0") agent" --mca oob_tcp_if_include eth0 \
    --mca btl self,tcp --mca btl_tcp_if_include eth0 "$@"
}

case "${1:-}" in
  up) up "${2:?how many hosts}" "${3:?bits a second, such as 1gbit}" "${4:-}" ;;
  run) run "${2:?how many ranks}" "${@:3}" ;;
  down) down ;;
  # What mpirun starts its daemons with: a command line for a shell.
  agent) on_host "$2" sh -c "${*:3}" ;;
  *)
    sed -n '3,12s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
