#!/bin/bash
# The part of systemd-run that Kubernetes' tests of a node use, for a host without systemd: it starts a program as a unit, which
# systemctl.sh, beside it, restarts and ends. The unit is a directory with the program's words and the file of its log.
set -eu
[ "${1-}" != --version ] || { echo 'systemd 257 (stand-in)'; exit; }
log=/dev/null unit=
while [ $# -gt 0 ]; do
	case $1 in
	-p) case $2 in StandardError=append:*) log=${2#*append:} ;; esac; shift 2 ;;
	--unit=*) unit=${1#--unit=}; shift ;;
	--*) shift ;;
	*) break ;;
	esac
done
dir=${UNITS:-/run/units}/${unit%.service}
mkdir -p "$dir"
echo "$log" >"$dir/log"
for word; do
	word=${word//%%/%} # the tests write words as systemd reads them
	printf '%s\0' "${word//\$\$/\$}"
done >"$dir/words"
exec systemctl restart "$unit"
