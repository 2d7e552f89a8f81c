package main

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/kubeloupe/kubeloupe/trace"
)

// pipeWidth is how wide text is where there is no terminal.
const pipeWidth = 100

// widthOf is how many columns there are to write to.
func widthOf(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			return width
		}
	}
	return pipeWidth
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

// asciiOnly reports whether the locale is one that cannot show more than ASCII.
func asciiOnly() bool {
	locale := cmp.Or(os.Getenv("LC_ALL"), os.Getenv("LC_CTYPE"), os.Getenv("LANG"))
	return !strings.Contains(strings.ToLower(strings.ReplaceAll(locale, "-", "")), "utf8")
}
