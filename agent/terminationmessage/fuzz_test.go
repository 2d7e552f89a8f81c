package terminationmessage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/agent/guestfile"
	"github.com/kubeloupe/kubeloupe/agent/logs"
	"github.com/kubeloupe/kubeloupe/agent/podstate"
)

// FuzzRead reads a termination message and the end of a log. A container wrote both.
func FuzzRead(f *testing.F) {
	const entry = "2016-10-06T00:17:09.669794202Z stdout F text\n"
	for _, s := range []string{
		"", "bye", entry, strings.Repeat(entry, 100), "2016-10-06T00:17:09Z stderr P be", strings.Repeat("x", 5000), strings.Repeat("2016-10-06T00:17:09Z stdout P x\n", 5000),
		strings.Repeat(`{"log":"x\n","stream":"stdout"}`+"\n", 100), entry + `{"log":"x\n","stream":"stdout"}`,
		" \n  \n   \n    x", "\xff\x00\n", strings.Repeat("x", logWindow) + "\n" + entry,
	} {
		f.Add([]byte(s), []byte(entry+s), "")
		f.Add([]byte(nil), []byte(s), "OOM")
	}
	dir := f.TempDir()
	r := New(guestfile.New(guestfile.Config{}))
	f.Fuzz(func(t *testing.T, message, log []byte, said string) {
		c := &podstate.Container{
			TerminationLog: filepath.Join(dir, "message"), LogPath: filepath.Join(dir, "0.log"), TerminationMessagePolicy: "FallbackToLogsOnError",
			Message: said,
		}
		c.ExitCode = 1
		for path, text := range map[string][]byte{c.TerminationLog: message, c.LogPath: log} {
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got := r.Read(t.Context(), c)
		if again := r.Read(t.Context(), c); again != got {
			t.Fatalf("%q, and again %q", got, again)
		}
		words, ok := strings.CutPrefix(got, said)
		if !ok {
			t.Fatalf("%q does not begin with what the runtime said, %q", got, said)
		}
		if said != "" {
			words = strings.TrimPrefix(words, ": ")
		}
		if len(message) > 0 {
			if want := string(message[max(0, len(message)-maxFile):]); words != want {
				t.Fatalf("%q, want %q", words, want)
			}
			return
		}
		if len(words) > maxLog {
			t.Fatalf("%d bytes of a log", len(words))
		}
		// The message is the end of the text of the log's entries.
		text := string(log)
		if len(text) > logWindow {
			_, text, _ = strings.Cut(text[len(text)-logWindow:], "\n")
		}
		all := strings.Join(logs.Lines([]byte(text)), "")
		if !strings.HasSuffix(all, words) || words == "" && len(all) > 0 {
			t.Fatalf("%q is not the end of %q", words, all)
		}
	})
}
