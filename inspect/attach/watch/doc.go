// Package watch watches a running kubelet that is not ours: it follows the kubelet's log and the container runtime's, and publishes what they
// tell on a bus, as one stream of records.
//
// It owns when a record is due: logs are read a moment after they were written, and what several of them tell of one thing is merged
// first, so records come two to three seconds after what they tell of. What it cannot read it says in Log records, and tries again. It never
// writes to the kubelet, to the runtime or below their directories.
//
// It runs one goroutine for each log and one that merges. Logs hold anybody's words: package logfile and the folds bound what is read of
// them.
package watch
