package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/pflag"
)

// pagerEnv names the pager of kubeloupe alone; $PAGER is that of all programs.
const pagerEnv = "KUBELOUPE_PAGER"

// defaultPager ends by itself if the text fits the screen, keeps colors, and leaves the text on the screen.
const defaultPager = "less -FRX"

// pager shows text that is longer than the terminal.
type pager struct{ off bool }

func (p *pager) add(fs *pflag.FlagSet) {
	fs.BoolVar(&p.off, "no-pager", false, "print everything at once; by default, text that is longer than the terminal goes through $"+pagerEnv+", $PAGER or "+defaultPager)
}

// show writes text for people: through the pager if it is longer than the terminal, else as it is. A pipe or a file never has a pager.
func (p *pager) show(s streams, write func(io.Writer) error) error {
	height := heightOf(s.out)
	if p.off || height == 0 || !isTerminal(s.in) {
		return write(textOut(s.out))
	}
	var text bytes.Buffer
	if err := write(&text); err != nil {
		return err
	}
	if bytes.Count(text.Bytes(), []byte{'\n'}) >= height {
		var fits bytes.Buffer
		if _, err := asciiOr(&fits, s.out).Write(text.Bytes()); err == nil && runPager(s, fits.Bytes()) {
			return nil
		}
	}
	_, err := textOut(s.out).Write(text.Bytes())
	return err
}

// runPager reports whether a pager could be started. How it ends is the reader's business.
func runPager(s streams, text []byte) bool {
	words := strings.Fields(pagerOf(os.Getenv))
	if len(words) == 0 || words[0] == "cat" {
		return false
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return false
	}
	c := exec.Command(path, words[1:]...)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(text), screen(s.out), s.err
	if err := c.Start(); err != nil {
		return false
	}
	_ = c.Wait() // it was shown; a pager that was ended early has no error for us
	return true
}

// pagerOf is the pager of an environment; "" if there shall be none.
func pagerOf(env func(string) string) string {
	for _, name := range []string{pagerEnv, "PAGER"} {
		if text := env(name); text != "" {
			return text
		}
	}
	return defaultPager
}
