// Package kubeapi has typed clients of the API groups that the agent uses, and no others.
//
// They are client-go's generic clients (gentype) with a scheme of these groups. client-go's own set of clients, package kubernetes, links
// the types and the clients of every group of Kubernetes, which makes the program a third larger. Both send the same requests.
package kubeapi
