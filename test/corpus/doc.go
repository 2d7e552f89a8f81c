// Package corpus keeps recordings that earlier versions of kubeloupe made, and what was said of them: the sessions of test/causes on the
// simulated runtime, on containerd and in a cluster, and those of the UI's tests. Its test opens each recording, asks why, trace and
// inspect about it, at its end and on the way there, and compares the JSON with that of the version that recorded it. A change of it is a
// change that users see.
//
// testdata/v1 has recordings of the schema before its first version number. To add some:
//
//	KUBELOUPE_CAUSES_TO=test/corpus/testdata/v2 go test ./test/causes -count=1
//	go test ./test/corpus -update
package corpus
