// Package bundle reads what people send each other about a node: logs of kubelets and of container runtimes in all forms that package
// logfile knows, rotated pieces of them, objects and Events as `kubectl cluster-info dump` writes them, and directories and tar files of
// these, as must-gather and sosreport make them. All of it becomes one stream of records.
//
// It owns which files of a tree matter, which are pieces of one log, and whether the kubelet's clock, which has no zone in its log, is
// that of the others. Told says what the stream is made of, for reports.
//
// Anybody may have written what it reads, names and archives too: entries, sizes, depth and what is kept are bounded, only regular files
// are opened, no link leads out of a tree, and what an archive holds is written to one temporary file that has no name, so that nothing of
// it is left however the process ends. A file that is given twice counts once. It runs no goroutine and publishes nothing.
package bundle
