// Command nmeter stands in for busybox's applet of that name, which Debian's busybox lacks. It prints the time of day, and none of the other
// meters: Kubernetes' tests of a node print milliseconds with it (nmeter -d0 '%3t'), which date of busybox cannot.
//
// It is built for the images of these tests. It runs no goroutine and publishes no trace events.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	every, format, err := parse(os.Args[1:])
	if err == nil {
		err = meter(os.Stdout, every, format, time.Now)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "nmeter:", err)
		os.Exit(1)
	}
}

// once is the delay that ends the program after its first line.
const once = -time.Millisecond

// parse reads what the applet takes: -dN or -d N, a delay in milliseconds, and a format.
func parse(args []string) (every time.Duration, format string, err error) {
	every = time.Second
	if len(args) > 0 && strings.HasPrefix(args[0], "-d") {
		text := strings.TrimPrefix(args[0], "-d")
		args = args[1:]
		if text == "" && len(args) > 0 {
			text, args = args[0], args[1:]
		}
		ms, err := strconv.ParseInt(text, 10, 32)
		if err != nil || ms < -1 {
			return 0, "", fmt.Errorf("-d %q: must be milliseconds, or -1 for one line", text)
		}
		every = time.Duration(ms) * time.Millisecond
	}
	if len(args) != 1 {
		return 0, "", errors.New("usage: nmeter [-d MILLISECONDS] FORMAT; in FORMAT, %t is the time, %3t the time with milliseconds")
	}
	return every, args[0], nil
}

// meter prints a line after each delay, until the output ends. With a delay of 0 it prints without a pause, as the applet does.
func meter(out io.Writer, every time.Duration, format string, now func() time.Time) error {
	for {
		line, err := render(format, now())
		if err != nil {
			return err
		}
		if _, err := io.WriteString(out, line+"\n"); err != nil || every == once {
			return err
		}
		time.Sleep(every)
	}
}

// render replaces %t and %Nt, with N from 0 to 6 digits after the second, and %%.
func render(format string, at time.Time) (string, error) {
	var b strings.Builder
	for {
		text, rest, found := strings.Cut(format, "%")
		b.WriteString(text)
		if !found {
			return b.String(), nil
		}
		digits := 0
		if rest != "" && '0' <= rest[0] && rest[0] <= '6' {
			digits, rest = int(rest[0]-'0'), rest[1:]
		}
		switch {
		case strings.HasPrefix(rest, "t"):
			b.WriteString(at.Format(layout(digits)))
		case strings.HasPrefix(rest, "%"):
			b.WriteByte('%')
		default:
			return "", fmt.Errorf("format %q: only %%t, %%0t to %%6t and %%%% are supported", format)
		}
		format = rest[1:]
	}
}

func layout(digits int) string {
	if digits == 0 {
		return time.TimeOnly
	}
	return time.TimeOnly + "." + strings.Repeat("0", digits)
}
