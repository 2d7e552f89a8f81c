// Package redact keeps secrets out of what people see.
//
// A value is secret by where it came from, not by its name: a Secret, a service-account token, a pull secret, a credential
// provider, a bootstrap token, the credentials in a URL. If the agent itself combines such a value with others, it keeps its
// provenance (criconfig.Var). A text of another program may quote a value (a runtime's error that quotes an argument, a probe's
// output, a CSI driver's message). For these, a [Vault] knows the pod's values and redacts them.
//
// It owns the values while their pod is on the node. It never writes them anywhere, runs no goroutine and publishes
// nothing. It imports nothing of ours.
//
// Limits: it does not search texts for a value of fewer than [MinText] bytes, for a value that was changed (encrypted, reversed,
// truncated at its beginning), or for a part of a secret file other than a line. A value that is in the pod's manifest is not
// secret. See [Vault].
package redact

// Mark replaces a redacted value.
const Mark = "[redacted]"
