// Command swap has two agents hand a node to each other, and shows what that changed.
//
// Pods of all kinds start under upstream's kubelet. It ends, kubeloupe starts on the same root
// directory, and then upstream's again. After each exchange the pods, the runtime's containers, the
// mounts and the cgroups are compared with those before it: no container may have been restarted, no
// pod changed. Then it is tried whether all continues: volumes are updated, probes fail and recover,
// tokens are valid, exec and logs work, restarts are counted on, pods end and nothing of them is left.
//
//	make swap
//	LAB_DIR=/tmp/kubeloupe-lab go run ./test/swap -program bin/kubeloupe
//
// What must not be is printed as FAIL and makes the exit status 1; other differences are printed as
// notes.
package main
