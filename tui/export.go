package tui

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/kubeloupe/kubeloupe/tui/views"
)

// export writes what is on screen to a file of its own.
func (a *app) export() tea.Cmd {
	text := plainScreen(a.view())
	name, dir, at := strings.ToLower(a.top().Name()), a.cfg.ExportDir, a.cfg.Now()
	return func() tea.Msg {
		path, err := writeNew(dir, name, at, text)
		if err != nil {
			return views.Say{Text: "could not export: " + err.Error(), Bad: true}
		}
		return views.Say{Text: "written to " + path}
	}
}

// plainScreen takes the escape sequences and trailing spaces out of a frame.
func plainScreen(frame string) string {
	lines := strings.Split(ansi.Strip(frame), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n"
}

// writeNew writes a new private file kubeloupe-<name>-<time>.txt and never one
// that exists; where there is one, the name gets a number.
func writeNew(dir, name string, at time.Time, text string) (path string, err error) {
	if dir == "" {
		dir = "."
	}
	base := "kubeloupe-" + name + "-" + at.Format("20060102-150405")
	for i := range 100 {
		path = filepath.Join(dir, base+".txt")
		if i > 0 {
			path = filepath.Join(dir, fmt.Sprintf("%s-%d.txt", base, i+1))
		}
		var f *os.File
		f, err = os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, werr := f.WriteString(text)
		if err := errors.Join(werr, f.Close()); err != nil {
			return "", err
		}
		if dir == "." {
			path = "./" + path
		}
		return path, nil
	}
	return "", err
}
