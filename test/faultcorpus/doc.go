// Package faultcorpus holds faults of pods and near-misses that stay apart from the rules of inspect/cause: what happens is real (an agent on
// containerd, real plugins, registries and signals), and each case says before which cause it is.
//
// testdata has the recording of each case. The tests ask why of them, and compare the verdicts with testdata/figures.txt: a change of the
// rules is seen at once, and shows what it does to all cases. A case of cases() is the name, what must be said, and a function that
// makes it happen; to make all happen again and keep the recordings (root and Linux, some minutes):
//
//	go test ./test/faultcorpus -run TestRealize -realize -keep DIR
//
// make fault-corpus does this with testdata as DIR. Cases about objects of the API, and pods that name their node, happen in the laboratory's
// cluster. A case is never written from what the rules say: figures-before.txt, figures-before-workload.txt and figures-before-round2.txt
// have what the rules gave when the cases came. The figures are by round: the cases of rounds 1 and 2 were held out.
//
// It holds nothing that the product uses, and publishes no events.
package faultcorpus
