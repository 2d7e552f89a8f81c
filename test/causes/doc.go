// Package causes what the rules of inspect/cause speak of, and sees that the rule speaks of it and of the right pod: its
// tests write no records manually, inspect/cause's do.
//
// The names of its files say where: containerd_ is an agent in this process on a laboratory's containerd, whose spans it takes (root and
// Linux; not with -short); cluster_ is the same as the node of a laboratory's cluster, in a network namespace of its own; part_ is one
// real part of the agent, with the rest of a start told manually; the others are an agent on the simulated runtime. docs/causes/README.md
// has the table.
//
// upstream_ has upstream's kubelet go through the same, and asks kubeloupe why, from the logs (make attach-causes): docs/attach.md has that
// table.
//
// It holds nothing that the product uses, runs no goroutines of its own and publishes no events. Its tests leave nothing behind.
package causes
