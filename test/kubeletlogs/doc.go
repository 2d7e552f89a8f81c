// Command kubeletlogs writes logs of upstream's kubelet at V2, V3 and V4, with pods that start, crash, lack a Secret or an image, have a
// readiness probe and are deleted, in the lab's cluster:
//
//	go run ./test/kubeletlogs -out inspect/attach/kubeletlog/testdata
//
// With -runtime cri-o, it writes those of a kubelet whose runtime is CRI-O instead.
//
// The logs are cut to the pods' time and compressed. The nodes, pods and addresses in them are the lab's. It needs root.
package main
