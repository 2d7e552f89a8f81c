#!/bin/sh
# Kubernetes' tests of a node start this program as the kubelet. kubeloupe has all of the flags that they use, so none is dropped. Its file is
# called kubelet, because tests look for a process of that name. Its lines go where the kubelet's log goes.
exec /opt/e2e/kubeloupe/program/kubelet run --no-tui "$@" >&2
