#!/bin/bash
# The part of systemctl that Kubernetes' tests of a node use: see systemd-run.sh.
set -eu
verb=$1 unit=${2-}
dir=${UNITS:-/run/units}/${unit%.service}

# alive says whether the process of a unit runs: one that has ended may not have been reaped yet.
alive() {
	local pid
	pid=$(cat "$1/pid" 2>/dev/null) && grep -q '^State:[[:space:]]*[^ZX]' "/proc/$pid/status" 2>/dev/null
}

# send sends a signal to the process of the unit, which may have ended meanwhile.
send() { kill -s "$1" "$(cat "$dir/pid")" 2>/dev/null || true; }

end() {
	alive "$dir" || return 0
	send TERM
	for _ in $(seq 900); do
		alive "$dir" || return 0
		sleep 0.1
	done
	send KILL
}

begin() {
	local words
	mapfile -d '' words <"$dir/words"
	cd /
	setsid "${words[@]}" >>"$(cat "$dir/log")" 2>&1 </dev/null &
	echo $! >"$dir/pid"
}

case $verb in
list-units) # PATTERN [--state=running]
	for d in "${UNITS:-/run/units}"/*; do
		if alive "$d"; then
			echo "  ${d##*/}.service loaded active running"
		elif [ "${3-}" != --state=running ]; then
			echo "  ${d##*/}.service loaded active exited"
		fi
	done
	;;
restart) end; begin ;;
start) alive "$dir" || begin ;;
stop) end ;;
kill) ! alive "$dir" || send TERM ;;
reset-failed | mask) ;;
*) echo "systemctl: $verb is not in this stand-in" >&2; exit 1 ;;
esac
