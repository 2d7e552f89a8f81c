package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
	"github.com/kubeloupe/kubeloupe/tui/style"
)

// pipeWidth is how wide text is where there is no terminal.
const pipeWidth = 100

// widthOf is how many columns there are to write to.
func widthOf(w io.Writer) int {
	if f, ok := screen(w).(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return pipeWidth
}

// heightOf is how many lines a terminal has; 0 where there is no terminal, and where pages show text already.
func heightOf(w io.Writer) int {
	if _, ok := w.(*pages); ok {
		return 0
	}
	if f, ok := screen(w).(*os.File); ok {
		if _, height, err := term.GetSize(int(f.Fd())); err == nil {
			return max(height, 0)
		}
	}
	return 0
}

// writeTo lets write write to the file, or to out where there is none. A file that could not be finished is removed, if
// it is a plain one: not a device, and not what a link leads to.
func writeTo(file string, out io.Writer, write func(io.Writer) error) (err error) {
	if file == "" {
		return write(out)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return userError{fmt.Errorf("--to: %w", err)}
	}
	b := bufio.NewWriter(f)
	err = cmp.Or(write(b), b.Flush()) // a flush that follows a failure fails alike
	if err = cmp.Or(err, f.Close()); err != nil {
		if st, bad := os.Lstat(file); bad == nil && st.Mode().IsRegular() {
			_ = os.Remove(file)
		}
	}
	return err
}

// collector keeps all records.
type collector struct{ recs []trace.Record }

// Apply implements folder.
func (k *collector) Apply(r *trace.Record) { k.recs = append(k.recs, *r) }

// Lost implements folder.
func (k *collector) Lost(uint64) {}

// asciiOnly reports whether what is written to w cannot show more than ASCII: by the locale, where one is set, and by the kind of a terminal.
func asciiOnly(w io.Writer) bool {
	env := os.Environ()
	if !isTerminal(w) {
		env = append(env, "TERM=") // who reads a pipe is not known by it
	}
	return style.For(env).ASCII
}

// colored reports whether w is a terminal with colors that are wanted.
func colored(w io.Writer) bool { return isTerminal(w) && style.For(os.Environ()).Colored() }

// textOut is where text for people is written that goes to w: as it is, or in ASCII. Whoever makes text cleans what others wrote in it;
// here what was forgotten is caught.
func textOut(w io.Writer) io.Writer { return asciiOr(w, w) }

// asciiOr is textOut for text that reaches a terminal through another program.
func asciiOr(w, terminal io.Writer) io.Writer {
	if asciiOnly(terminal) {
		w = &asciiWriter{to: w, theme: style.New(true)}
	}
	return human.Writer(w)
}

// asciiWriter replaces what is not ASCII by what looks most like it.
type asciiWriter struct {
	to    io.Writer
	theme *style.Theme
	rest  []byte // of a character that is not complete
}

// Write implements io.Writer.
func (a *asciiWriter) Write(p []byte) (int, error) {
	text := append(a.rest, p...)
	whole := len(text)
	for i := max(0, whole-utf8.UTFMax+1); i < whole; i++ {
		if !utf8.FullRune(text[i:]) && utf8.RuneStart(text[i]) {
			whole = i
		}
	}
	a.rest = bytes.Clone(text[whole:])
	if _, err := io.WriteString(a.to, a.theme.Fold(string(text[:whole]))); err != nil {
		return 0, err
	}
	return len(p), nil
}
