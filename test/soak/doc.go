// Command soak creates and deletes pods on a node for a while and shows that nothing grows.
//
// Pods of some kinds come and go at a steady rate, some deleted while they start, some by force, some
// made again with the same name at once. Ten times all pods end, and what the agent and the lab still
// hold is counted: goroutines, open files, memory, mounts, cgroups, network namespaces, addresses,
// containers, directories, API objects. The first count, after a tenth of the pods, is what the last
// is compared with.
//
//	make soak MINUTES=30 PODS=2000
//	LAB_DIR=/tmp/kubeloupe-lab go run ./test/soak -minutes 2 -pods 130
//
// With -profile it writes a CPU profile of the agent, and does not say what grew: make profile.
//
// The exit status is 1 if something grew.
package main
