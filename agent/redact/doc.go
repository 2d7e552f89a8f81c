// Package redact keeps secrets out of what people see.
//
// A value is secret by where it came from, not by its name: a Secret, a service-account token, a pull secret, a
// credential provider, a bootstrap token, the credentials in a URL. Where the agent itself puts such a value together
// with others, it carries its provenance with it (criconfig.Var). Where a value may come back in a text that somebody
// else wrote (a runtime's error that quotes an argument, what a probe printed, a CSI driver's message), a [Vault]
// knows the pod's values and blanks them.
//
// It owns the values while their pod is on the node. It never writes them anywhere, runs no goroutine and publishes
// nothing. It imports nothing of ours.
//
// What it cannot do: a value of fewer than [MinText] bytes is not looked for in texts, nor a value that somebody
// changed (encrypted, reversed, cut at its beginning), nor a word of a secret file that is neither the file nor a line
// of it. A value that the pod's own manifest says is not secret. See [Vault].
package redact

// Mark replaces what is not shown.
const Mark = "[redacted]"
