// Package arch holds the house to its rules: who may import whom, the layers
// of agent/ as docs/architecture.md lists them, a package comment for every
// package, nobody imports k8s.io/kubernetes, and no init and no mutable
// globals in agent/; what is read whole or opened is listed, with who writes
// it; inotify is agent/inotify's; a struct of more than 20 fields says why.
// Its tests read the source of every platform, not only of the one they run
// on, and nothing of nested modules.
//
// It holds nothing that the product uses. It runs no goroutines and publishes
// no events.
package arch
