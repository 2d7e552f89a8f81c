// Package report is what `kubeloupe inspect` prints: tables about a node, as text for people, and as JSON and YAML with stable
// field names.
//
// It owns the subjects and their columns, one file for each. It is pure: tables come from an inspect/model, those that are not in
// the records from the response of a running agent, and the time is an argument. It runs no goroutine and publishes nothing.
//
// An unknown value is "-" in text and omitted in JSON. Foreign text cannot begin a new line and contains no escape codes.
package report
