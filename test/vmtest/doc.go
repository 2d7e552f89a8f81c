// Package vmtest runs kubeloupe as the node agent of a modern node, in a virtual machine: systemd with its cgroup driver and watchdog, cgroup
// v2, swap, PSI, AppArmor, seccomp, user namespaces; restarts, reboots, and upstream's kubelet before and after it. See test/vm/node.
//
// It is not part of make test: make vm-test runs it. It needs root, and takes about half an hour on two processors. TestSELinux has a
// machine of its own, and is skipped unless -run names it. See docs/vm.md.
package vmtest
