// Command demo runs the agent on real pods, to be watched: `make demo`.
//
// It builds bin/kubeloupe, starts a private lab (see test/lab) in a temporary
// directory, or uses the one in LAB_DIR, and runs the agent there with the pods of
// manifests/. On a terminal the UI is in front and the pods come one by one; elsewhere
// it prints the agent's events as lines, waits until every pod has got where it
// should, prints how one of them started, deletes them and ends.
//
// It owns what it makes and leaves nothing of it: pods, processes, mounts, cgroups and
// directories are gone when it ends, also by a signal. A lab that was up before stays.
// Without root or Linux it says so and uses the simulated runtime.
//
// It runs one goroutine that reads an agent's records, or one that writes manifests while
// the UI is in front. It publishes no events.
package main
