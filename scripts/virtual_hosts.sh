#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Several "hosts" on one machine: network namespaces on a bridge, each with a link of its own, and
# mpirun across them. Ranks of different hosts reach each other by TCP over these links alone.
#
#   scripts/virtual_hosts.sh up 4 100mbit [1ms]   four hosts; what a link carries in a second each way,
#                                                 and how much later what a host sends arrives
#   scripts/virtual_hosts.sh run 8 build/release/bin/egret run plan.json --check
#   scripts/virtual_hosts.sh down
#
# Needs root, and a kernel with network namespaces, bridges and TAP devices, whose frames pass through a
# process (scripts/relay_frames.cc); without TAP devices, veth and tbf, and netem for a delay. What is
# missing is named, with exit code 7.
set -euo pipefail

prefix=egret
bridge=$prefix-br
network=10.87.0
# Of the relay's links. Network cards take and give messages in such pieces (segmentation offload). With
# frames of 3,000 bytes at 400 Mbit/s, kernel and relay took the cores that the hosts compute with: passes
# beside messages took up to eight times as long.
relay_frame_bytes=60000
most_frame_bytes=9000  # of other links, as Ethernet carries; see frame_bytes_at
eager_bytes=1048576  # of a message that is sent without asking first, which takes a link's delay twice

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
  for link in $(ip -o link show | grep -oE "\b$bridge[0-9]+(-host)?\b" | sort -u); do
    ip link del "$link" 2>/dev/null || true
  done
  ip link del $bridge 2>/dev/null || true
}

# The link of a host: its end in the host is called eth0, the other is a port of the bridge.
add_link() {  # HOST PORT RATE DELAY
  local end=$2-host frame=$relay_frame_bytes
  if has_relay; then
    local delay rate
    delay=$(seconds "${4:-0s}")
    rate=$(bits_per_second "$3")
    compile_relay
    "$relay/relay_frames" "$delay" "$rate" "$end" "$2"
  else
    frame=$(frame_bytes_at "$3")
    ip link add "$2" type veth peer name "$end" 2>/dev/null || missing "this kernel has no veth"
  fi
  ip link set "$end" netns "$1" name eth0 mtu "$frame"
  ip link set "$2" master $bridge mtu "$frame" up
  ip -n "$1" link set eth0 up
  has_relay || shape_link "$@"
}

has_relay() { [ -c /dev/net/tun ]; }

shape_link() {  # as add_link
  if [ -n "$4" ]; then
    tc -n "$1" qdisc add dev eth0 root handle 1: netem delay "$4" limit 100000 2>/dev/null ||
      missing "this kernel has neither netem nor TAP devices: links cannot be delayed"
    shape "$3" -n "$1" qdisc add dev eth0 parent 1: handle 2:
  else
    shape "$3" -n "$1" qdisc add dev eth0 root handle 2:
  fi
  shape "$3" qdisc add dev "$2" root handle 2:
}

# The process of links; running ones keep it when the file is deleted.
relay=
compile_relay() {
  [ -z "$relay" ] || return 0
  relay=$(mktemp -d)
  "${CXX:-c++}" -std=c++20 -O2 "$(dirname "$(realpath "$0")")/relay_frames.cc" -o "$relay/relay_frames" ||
    missing "links need a C++ compiler"
}

# Little may pass at once, so that short messages take their time too: two frames, after a pause,
# which are a quarter of a millisecond of the link at most. Two frames of 9,000 bytes at 100 Mbit/s
# are 1.4 ms, and messages of 16 KiB were measured as fast as on a link without a rate. Nothing is
# lost in a queue.
shape() {  # RATE TC...
  tc "${@:2}" tbf rate "$1" burst $((2 * $(frame_bytes_at "$1"))) limit 64mb 2>/dev/null ||
    missing "this kernel has no tbf (CONFIG_NET_SCH_TBF), or '$1' is no rate: links cannot be shaped"
}

# Half of an eighth of a millisecond, but whole frames of Ethernet.
frame_bytes_at() {  # RATE
  local rate
  rate=$(bits_per_second "$1")
  awk -v rate="$rate" -v most=$most_frame_bytes 'BEGIN {
    bytes = int(rate / 8 * 60e-6)
    print (bytes < 1500 ? 1500 : bytes > most ? most : bytes)
  }'
}

bits_per_second() {  # such as 100mbit, 1.5gbit
  awk -v rate="$1" 'BEGIN {
    unit = tolower(rate); sub(/^[0-9.]+/, "", unit)
    factor = unit == "gbit" ? 1e9 : unit == "mbit" ? 1e6 : unit == "kbit" ? 1e3 : unit == "bit" ? 1 : 0
    if (rate * factor < 1) exit 1
    printf "%.0f\n", rate * factor
  }' || missing "a rate is written 100mbit or 1.5gbit, not '$1'"
}

seconds() {  # such as 1ms, 200us, 0.5s
  awk -v t="$1" 'BEGIN {
    unit = t; sub(/^[0-9.]+/, "", unit)
    if (unit != "s" && unit != "ms" && unit != "us") exit 1
    print t * (unit == "s" ? 1 : unit == "ms" ? 1e-3 : 1e-6)
  }' || missing "a delay is written 1ms, 200us or 0.5s, not '$1'"
}

up() {  # COUNT RATE [DELAY]
  [ "$(id -u)" = 0 ] || missing "network namespaces need root"
  down
  trap 'down; rm -rf "$relay"' ERR EXIT
  ip link add $bridge type bridge 2>/dev/null || missing "this kernel has no bridges"
  ip link set $bridge up
  for ((i = 0; i < $1; ++i)); do
    local host=$prefix$i
    ip netns add "$host" 2>/dev/null || missing "this kernel or container has no network namespaces"
    ip -n "$host" link set lo up 2>/dev/null ||
      missing "a process cannot enter a network namespace here (in a chroot, / must be a mount point)"
    add_link "$host" $bridge$i "$2" "${3:-}"
    ip -n "$host" addr add $network.$((i + 1))/24 dev eth0
    mkdir -p "/etc/netns/$host"
    echo "127.0.0.1 localhost" >"/etc/netns/$host/hosts"
  done
  for host in $(names); do
    for ((i = 0; i < $1; ++i)); do
      echo "$network.$((i + 1)) $prefix$i" >>"/etc/netns/$host/hosts"
    done
  done
  rm -rf "$relay"
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
    --mca btl self,tcp --mca btl_tcp_if_include eth0 --mca btl_tcp_eager_limit $eager_bytes "$@"
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
