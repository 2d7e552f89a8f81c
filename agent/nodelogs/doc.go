// Package nodelogs answers queries for the node's own logs: of services from systemd's journal, and of files in the log directory.
//
// It owns what a query may contain, the arguments of journalctl, where a service that does not log to the journal may have its file, and the
// limits of the answers. It opens no file itself (its Files do), and does not know the caller: its server has authorized it.
//
// It runs no goroutine. It runs journalctl, without a shell, while a query is answered: for at most 30 seconds, until the client is gone, for a
// few queries at once. It publishes nothing: the server publishes the request.
//
// Upstream: pkg/kubelet/kubelet_server_journal.go; KEP-2258.
package nodelogs
