package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
	client "k8s.io/client-go/tools/remotecommand"
	clientspdy "k8s.io/client-go/transport/spdy"
	utilexec "k8s.io/client-go/util/exec"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/streaming/pkg/httpstream/spdy"
	"k8s.io/streaming/pkg/httpstream/wsstream"
)

const (
	// idleStream is how long a WebSocket may be idle; upstream's limit.
	idleStream = 4 * time.Hour
	// pingPeriod is the period of the pings that keep the connection to the runtime.
	pingPeriod = 5 * time.Second
	// statusDeadline is how long the last message of a WebSocket, its status, may take.
	statusDeadline = 10 * time.Second
)

// translate connects a WebSocket that can close single streams (version 5) to the runtime's streaming server at where, over
// SPDY. It reports every failure after the upgrade, and the exit code, as a status in the error stream.
//
// Upstream: k8s.io/apiserver/pkg/util/proxy/streamtranslator.go, websocket.go; KEP-4006. The package itself would link the types
// of every API group.
func translate(w http.ResponseWriter, r *http.Request, where *url.URL, opts *remotecommand.Options) {
	ws := wsstream.NewConn(map[string]wsstream.ChannelProtocolConfig{
		constants.StreamProtocolV5Name: {Binary: true, Channels: channels(opts)},
	})
	ws.SetIdleTimeout(idleStream)
	_, streams, err := ws.Open(w, r)
	if err != nil {
		return // Open has responded
	}
	defer ws.Close() //nolint:errcheck // the client is gone
	if _, err := streams[firstWritten(opts)].Write(nil); err != nil {
		return
	}
	ctx, cancel := untilClosed(r.Context(), streams[closing])
	defer cancel()
	status := statusOf(overSPDY(ctx, where, streams, opts))
	p, err := json.Marshal(status)
	if err != nil { // impossible: a status has only texts and numbers
		return
	}
	ws.SetWriteDeadline(statusDeadline)
	_, _ = streams[constants.StreamErr].Write(p) // to whom could this be reported?
}

// channels returns the directions of a WebSocket's channels. A size is only read if there is a terminal.
func channels(opts *remotecommand.Options) []wsstream.ChannelType {
	is := make([]wsstream.ChannelType, closing+1)
	for stream, c := range map[int]struct {
		used bool
		as   wsstream.ChannelType
	}{
		constants.StreamStdIn:  {opts.Stdin, wsstream.ReadChannel},
		constants.StreamStdOut: {opts.Stdout, wsstream.WriteChannel},
		constants.StreamStdErr: {opts.Stderr, wsstream.WriteChannel},
		constants.StreamErr:    {true, wsstream.WriteChannel},
		constants.StreamResize: {opts.TTY, wsstream.ReadChannel},
		closing:                {true, wsstream.ReadChannel},
	} {
		is[stream] = wsstream.IgnoreChannel
		if c.used {
			is[stream] = c.as
		}
	}
	return is
}

// closing is a channel that the protocol does not have. It ends when the client closes the WebSocket, or only this channel, which is
// against the protocol. What is sent in it is ignored.
const closing = constants.StreamResize + 1

// untilClosed returns a context that also ends when the stream does.
func untilClosed(ctx context.Context, stream io.Reader) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		_, _ = io.Copy(io.Discard, stream) // a pipe, which ends without an error
	}()
	return ctx, cancel
}

// firstWritten returns the lowest channel that the client reads. An empty message there says that the connection exists.
func firstWritten(opts *remotecommand.Options) int {
	switch {
	case opts.Stdout:
		return constants.StreamStdOut
	case opts.Stderr:
		return constants.StreamStdErr
	}
	return constants.StreamErr
}

// overSPDY copies the streams of a WebSocket to and from the runtime's streaming server, until the command exits or ctx ends.
func overSPDY(ctx context.Context, where *url.URL, streams []io.ReadWriteCloser, opts *remotecommand.Options) error {
	transport, err := spdy.NewRoundTripperWithConfig(spdy.RoundTripperConfig{PingPeriod: pingPeriod})
	if err != nil {
		return err
	}
	runtime, err := client.NewSPDYExecutorRejectRedirects(transport, clientspdy.NewUpgraderForStreaming(transport), http.MethodPost, where)
	if err != nil {
		return err
	}
	copied := client.StreamOptions{Tty: opts.TTY}
	if opts.Stdin {
		copied.Stdin = streams[constants.StreamStdIn]
	}
	if opts.Stdout {
		copied.Stdout = streams[constants.StreamStdOut]
	}
	if opts.Stderr {
		copied.Stderr = streams[constants.StreamStdErr]
	}
	if opts.TTY {
		copied.TerminalSizeQueue = readSizes(streams[constants.StreamResize])
	}
	return runtime.StreamWithContext(ctx, copied)
}

const (
	// maxSize is the length of a terminal's size in JSON, in bytes; a longer one counts as none.
	maxSize = 1 << 10
	// maxSizes is how many sizes wait for the runtime. kubectl sends two at the begin, whose difference makes a program draw its screen.
	maxSizes = 16
)

// sizes are a terminal's sizes, as the client sends them.
type sizes chan client.TerminalSize

// readSizes reads sizes until their stream ends; after one that is none, what follows is ignored. It always reads: the client's streams come
// over one connection, on which a size that nobody takes would stop its input and hide its end.
func readSizes(from io.Reader) sizes {
	s := make(sizes, maxSizes)
	go func() {
		defer io.Copy(io.Discard, from) //nolint:errcheck // a pipe, which ends without an error
		defer close(s)
		one := &io.LimitedReader{R: from}
		decoder := json.NewDecoder(one)
		for {
			var size client.TerminalSize
			one.N = maxSize
			if decoder.Decode(&size) != nil {
				return // closed, or not a size
			}
			s.add(size)
		}
	}()
	return s
}

// add adds a size. If too many wait, the oldest one is forgotten.
func (s sizes) add(size client.TerminalSize) {
	for {
		select {
		case s <- size:
			return
		default:
		}
		select {
		case <-s:
		default:
		}
	}
}

// Next implements remotecommand.TerminalSizeQueue.
func (s sizes) Next() *client.TerminalSize {
	size, ok := <-s
	if !ok {
		return nil
	}
	return &size
}

// statusOf returns the status that the client receives for the result of a command.
func statusOf(err error) metav1.Status {
	var (
		status *apierrors.StatusError
		exit   utilexec.CodeExitError
	)
	switch {
	case err == nil:
		return metav1.Status{Status: metav1.StatusSuccess}
	case errors.As(err, &status):
		return status.Status()
	case errors.As(err, &exit) && exit.Exited():
		return metav1.Status{
			Status: metav1.StatusFailure, Reason: constants.NonZeroExitCodeReason,
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{
				{Type: constants.ExitCodeCauseType, Message: strconv.Itoa(exit.ExitStatus())},
			}},
			Message: fmt.Sprintf("command terminated with non-zero exit code: %v", exit),
		}
	}
	return apierrors.NewInternalError(err).Status()
}
