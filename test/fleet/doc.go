// Command fleet runs two nodes whose pod starts are sent to one OpenTelemetry Collector: kubeloupe as a standalone node, and kubeloupe attach
// beside upstream's kubelet in a cluster. It starts pods on both, and checks in the Collector's file that each start has arrived whole: one
// root, all phases, no span without its parent, and drawn by kubeloupe trace --trace-id.
//
// Then the receiver is paused, stopped, slow and refusing, a minute each, in turn with as long without: pods must start as fast, each start must
// arrive or be counted as lost, and the programs' memory must stay within its budget. How long starts take is compared; with one node alone
// (-nodes), there are more of them in the same time. With -twins, two nodes of kubeloupe run at once, of which one has the outage in turn.
//
//	make fleet STARTS=200
//
// It needs root, and removes everything that it created.
package main
