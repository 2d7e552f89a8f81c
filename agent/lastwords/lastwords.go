package lastwords

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/observe"
)

// Upstream: pkg/kubelet/container/runtime.go, MaxContainerTerminationMessage...
const (
	maxFile     = 4096 // bytes of the termination message file
	maxLog      = 2048 // bytes of the log
	maxLogLines = 80
)

// logWindow is how much of a log's end is looked at for that many lines, in bytes.
const logWindow = 64 << 10

// Read returns the runtime's own message about a container and the container's last
// words, joined as upstream joins them. What cannot be read is said in the message.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_container.go, getTerminationMessage.
func Read(c *observe.Container) string {
	words := ""
	if c.TerminationLog != "" {
		text, err := tail(c.TerminationLog, maxFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			words = fmt.Sprintf("Error on reading termination log %s: %v", c.TerminationLog, err)
		}
		if err == nil {
			words = string(text)
		}
	}
	fallback := c.TerminationMessagePolicy == string(v1.TerminationMessageFallbackToLogsOnError) && c.ExitCode != 0
	if words == "" && fallback && c.LogPath != "" {
		words = logEnd(c.LogPath)
	}
	switch {
	case words == "":
		return c.Message
	case c.Message == "":
		return words
	}
	return c.Message + ": " + words
}

// tail returns the last n bytes of a regular file. The container may have put
// anything at the path that it writes to, so what is not a file is not read.
func tail(path string, n int64) ([]byte, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	from := max(0, info.Size()-n)
	return io.ReadAll(io.NewSectionReader(f, from, n))
}

// logEnd is the end of a log in the CRI's format: time, stream, tag, text.
func logEnd(path string) string {
	text, err := tail(path, logWindow)
	if err != nil {
		return fmt.Sprintf("Error reading termination message from logs: %v", err)
	}
	if len(text) == logWindow { // it begins within a line
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	var lines []string
	var line strings.Builder
	for raw := range bytes.Lines(text) {
		f := bytes.SplitN(raw, []byte(" "), 4)
		if len(f) < 4 {
			continue
		}
		if string(f[2]) == "P" { // the text goes on in the next entry
			line.Write(bytes.TrimSuffix(f[3], []byte("\n")))
			continue
		}
		line.Write(f[3])
		lines = append(lines, line.String())
		line.Reset()
	}
	if line.Len() > 0 { // the last line had no end
		lines = append(lines, line.String())
	}
	out := strings.Join(lines[max(0, len(lines)-maxLogLines):], "")
	return out[max(0, len(out)-maxLog):]
}
