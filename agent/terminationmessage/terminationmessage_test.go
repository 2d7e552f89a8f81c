package terminationmessage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	words, empty := file("words", "bye\n"), file("empty", "")
	log := file("0.log", "2026-01-01T00:00:00Z stdout F one\n2026-01-01T00:00:00Z stderr P tw\n2026-01-01T00:00:00Z stderr F o\n")
	open := file("open.log", "2026-01-01T00:00:00Z stdout F one\n2026-01-01T00:00:00Z stdout P DONE\n")
	docker := file("docker.log", `{"log":"one\n","stream":"stdout","time":"2026-01-01T00:00:00Z"}`+"\nrubbish x y z\n"+`{"log":"tw","stream":"stderr","time":"2026-01-01T00:00:00Z"}`+"\n"+`{"log":"o\n","stream":"stderr","time":"2026-01-01T00:00:00Z"}`+"\n")
	junk := file("junk.log", "an error of the runtime\n{}\n")
	line := "2026-01-01T00:00:00Z stdout F " + strings.Repeat("x", 99) + "\n"
	const onError = "FallbackToLogsOnError"
	for _, c := range []struct {
		name string
		in   podstate.Container
		want string
	}{
		{"nothing", podstate.Container{}, ""},
		{"the runtime's message", podstate.Container{Message: "oom"}, "oom"},
		{"file", podstate.Container{TerminationLog: words}, "bye\n"},
		{"both", podstate.Container{TerminationLog: words, Message: "oom"}, "oom: bye\n"},
		{"a last line without end", podstate.Container{LogPath: open, TerminationMessagePolicy: onError, ExitCode: 1}, "one\nDONE"},
		{"file gone", podstate.Container{TerminationLog: filepath.Join(dir, "gone")}, ""},
		{"a link is not followed", podstate.Container{TerminationLog: filepath.Join(dir, "link")}, "Error on reading termination log " + dir + "/link: " + dir + "/link is a symbolic link, want a regular file"},
		{"the end of a long file", podstate.Container{TerminationLog: file("long", strings.Repeat("a", 9)+strings.Repeat("b", maxFile))}, strings.Repeat("b", maxFile)},
		{"empty file and policy File", podstate.Container{TerminationLog: empty, ExitCode: 1, LogPath: log}, ""},
		{"the log after an error", podstate.Container{TerminationLog: empty, ExitCode: 1, LogPath: log, TerminationMessagePolicy: onError}, "one\ntwo\n"},
		{"the log in Docker's format", podstate.Container{ExitCode: 1, LogPath: docker, TerminationMessagePolicy: onError}, "one\ntwo\n"},
		{"a log in no format", podstate.Container{ExitCode: 1, LogPath: junk, TerminationMessagePolicy: onError}, ""},
		{"not the log of a container that cannot run", podstate.Container{Reason: "ContainerCannotRun", Message: "no such file", ExitCode: 127, LogPath: log, TerminationMessagePolicy: onError}, "no such file"},
		{"a log that cannot be read", podstate.Container{ExitCode: 1, LogPath: dir, TerminationMessagePolicy: onError}, "Error on reading termination message from logs: " + dir + " is a directory, want a regular file"},
		{"not the log after success", podstate.Container{TerminationLog: empty, LogPath: log, TerminationMessagePolicy: onError}, ""},
		{"not the log if there are words", podstate.Container{TerminationLog: words, ExitCode: 1, LogPath: log, TerminationMessagePolicy: onError}, "bye\n"},
		{
			"the end of a long log",
			podstate.Container{ExitCode: 1, LogPath: file("long.log", strings.Repeat(line, 2000)), TerminationMessagePolicy: onError},
			strings.Repeat("x", 47) + "\n" + strings.Repeat(strings.Repeat("x", 99)+"\n", 20),
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, New(guestfile.New(guestfile.Config{})).Read(t.Context(), &c.in)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
