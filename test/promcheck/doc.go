// Package promcheck holds kubeloupe's metrics, alert rules, dashboard and example stack (deploy/prometheus, deploy/grafana, deploy/stack)
// against the programs that read them: Prometheus' own scraper, storage, query engine and rule manager, Grafana's types, and Kustomize.
//
// It is a module apart, so that none of their dependencies is ours; and it does not import ours: it builds the program, runs it on the simulated
// runtime, and beside a recorded kubelet's log, and scrapes what that serves.
package promcheck
