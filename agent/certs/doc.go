// Package certs gets, keeps and renews the node's certificates: the client certificate that the API server knows the node by, and the
// serving certificate of the HTTPS server.
//
// It owns kubelet-client-*.pem, kubelet-server-*.pem, kubelet.crt and kubelet.key in the certificate directory, and the kubeconfig
// when it comes of a bootstrap, all named as upstream names them. It never sends a private key anywhere, and never publishes one.
//
// It runs a goroutine only in Run, which sleeps until a certificate is due.
//
// It publishes certificate for each that it shows from now on, and where there is none, decisions (by certs: renew), pod.wait of kind approval for a signing request that nobody has approved yet and of kind
// backoff for what is tried again, and log; its calls are api.call of the client certs.
package certs
