// Package certs gets, keeps and renews the node's certificates: the client certificate for the API server, and the
// serving certificate of the HTTPS server.
//
// It owns kubelet-client-*.pem, kubelet-server-*.pem, kubelet.crt and kubelet.key in the certificate directory, and the
// kubeconfig of a bootstrap, all with upstream's names. It never sends a private key anywhere, and never publishes one.
//
// It runs a goroutine only in Run, which gets a first certificate in the background, and then sleeps until one is due.
//
// It publishes certificate for each new certificate, or if there is none, decisions (by certs: renew), pod.wait of kind
// approval for a signing request that is not approved yet and of kind backoff for retries, and log; its calls are
// api.call of the client certs.
package certs
