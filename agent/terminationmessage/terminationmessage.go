package terminationmessage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/logs"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// Upstream: pkg/kubelet/container/runtime.go, MaxContainerTerminationMessage...
const (
	maxFile     = 4096 // bytes of the termination message file
	maxLog      = 2048 // bytes of the log
	maxLogLines = 80
)

// logWindow is how much of a log's end is searched for that many lines, in bytes.
const logWindow = 64 << 10

// patience limits the wait for a termination message, because a status waits for it.
const patience = time.Second

// Reader reads termination messages.
type Reader struct{ files *guestfile.Files }

// New returns a Reader that accesses files through files.
func New(files *guestfile.Files) Reader { return Reader{files} }

// Read returns the runtime's own message about a container and the container's termination message, joined as upstream
// does. An error is part of the message. It reads files, for at most one second: call it without a lock.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, getTerminationMessage.
func (r Reader) Read(ctx context.Context, c *podstate.Container) string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	words := ""
	if c.TerminationLog != "" {
		// The container wrote it. The path is that of the mount at its terminationMessagePath: usually a file that the
		// agent created; if the pod mounts a volume there, any file in it.
		text, _, err := r.files.Tail(ctx, c.TerminationLog, maxFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			words = fmt.Sprintf("Error on reading termination log %s: %v", c.TerminationLog, err)
		}
		if err == nil {
			words = string(text)
		}
	}
	if words == "" && showsLog(c) && c.LogPath != "" {
		words = r.logEnd(ctx, c.LogPath)
	}
	switch {
	case words == "":
		return c.Message
	case c.Message == "":
		return words
	}
	return c.Message + ": " + words
}

// logEnd returns the end of a log. The runtime wrote it, from the container's output; with cri-dockerd the path is a link to it.
func (r Reader) logEnd(ctx context.Context, path string) string {
	to, err := r.files.Resolve(ctx, path)
	var text []byte
	whole := false
	if err == nil {
		text, whole, err = r.files.Tail(ctx, to, logWindow)
	}
	if err != nil {
		return fmt.Sprintf("Error on reading termination message from logs: %v", err)
	}
	if !whole { // the data begins within a line
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	lines := logs.Lines(text)
	out := strings.Join(lines[max(0, len(lines)-maxLogLines):], "")
	return out[max(0, len(out)-maxLog):]
}
