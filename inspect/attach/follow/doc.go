// Package follow reads logs while they are written: files, also over their rotation, and a systemd journal through journalctl. What it
// returns are readers for package logfile: they wait a moment for more, and return logfile.ErrIdle when nothing came.
//
// It owns where reading begins (a while ago, so that what happened just before is known), what a rotation and a restart of the journal
// mean, and the notices that tell of both. It never writes. A File runs no goroutine, a Journal one and the process journalctl. It
// publishes nothing.
//
// What is in a log is anybody's words; the names of files and units are the caller's, who has them from root's configuration.
package follow
