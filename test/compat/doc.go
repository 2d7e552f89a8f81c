// Command compat sends the same requests, good, odd and hostile ones, to upstream's kubelet and to kubeloupe, each as the
// node of the lab's cluster, and compares what they answer.
//
//	make compat
//	LAB_DIR=/tmp/kubeloupe-lab go run ./test/compat -program bin/kubeloupe
//
// It also has each agent run the same pods, with devices, claims and a CPU for a container, and compares what the documents, the metrics and the
// services on local sockets say: see documents.go and scene.go. That is kept in testdata/contents.json, of both agents; contentreasons.go has the
// reasons of differences.
//
// What upstream answers is kept in testdata/upstream.json, and the table of differences in docs/compatibility.md. The test
// sends the same requests to kubeloupe's server alone, with a runtime that is made up, and compares with what is kept. A difference
// without a reason in reasons.go fails both.
package main
