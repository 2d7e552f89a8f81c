// Package report is what `kubeloupe inspect` prints: tables about a node, as text for people, and as JSON and YAML
// whose field names stay.
//
// It owns the subjects and their columns, one file for each. It is pure: tables come from a folded inspect/model,
// those that records do not tell from the answer of a live agent, and the time is an argument. It runs no
// goroutine and publishes nothing.
//
// Unknown is "-" in text and left out in JSON. Foreign text keeps to its line and brings no escape codes.
package report
