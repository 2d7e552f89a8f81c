package flex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/program"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Limits of one call. Upstream has none; two minutes are what the agent gives CSI drivers.
const (
	patience  = 2 * time.Minute
	maxAnswer = 64 << 10 // bytes on stdout
)

// maxMessage is how much of a driver's message, and of a response that is not JSON, is quoted, in bytes.
const maxMessage = 1 << 10

// The statuses of a response.
const (
	success     = "Success"
	unsupported = "Not supported"
)

// errUnsupported says that the driver does not support a call.
var errUnsupported = errors.New("the driver does not support the call")

// CallError is a call that failed.
type CallError struct {
	// Driver is the driver's name, Call the first argument.
	Driver, Call string
	Err          error
}

// Error implements error.
func (e *CallError) Error() string {
	return fmt.Sprintf("flexvolume driver %s: %s: %v", e.Driver, e.Call, e.Err)
}

// Unwrap returns the cause.
func (e *CallError) Unwrap() error { return e.Err }

// answer is a driver's response.
//
// Upstream: pkg/volume/flexvolume/driver-call.go, DriverStatus.
type answer struct {
	Status       string       `json:"status"`
	Message      string       `json:"message"`
	Device       string       `json:"device"`
	Capabilities capabilities `json:"capabilities"`
}

// call runs the driver with the arguments, of which the first one is the call. of is the volume's name; "" if the call is about none. The
// error is a [*CallError].
//
// Upstream: pkg/volume/flexvolume/driver-call.go, Run.
func (d *driver) call(ctx context.Context, of string, args ...string) (answer, error) {
	name := args[0]
	d.mu.Lock()
	lacks := d.lacks[name]
	d.mu.Unlock()
	if lacks {
		return answer{}, &CallError{d.name, name, errUnsupported}
	}
	event := trace.CSICall{Driver: d.name, Flex: true, Method: name, Volume: of}
	span := trace.Begin(d.p.cfg.Bus, trace.FromContext(ctx), event)
	limits := program.Limits{Time: d.p.cfg.Patience, Stdout: maxAnswer}
	out, err := program.Run(ctx, limits, func(ctx context.Context) *exec.Cmd { return exec.CommandContext(ctx, d.path, args...) })
	said, err := judge(out, err)
	switch {
	case errors.Is(err, errUnsupported):
		d.mu.Lock()
		d.lacks[name] = true
		d.mu.Unlock()
	case err != nil:
		event.Err = err.Error()
		event.Class = trace.Classify(event.Err)
	default:
		event.Code = "OK"
	}
	trace.End(d.p.cfg.Bus, span, event)
	if err != nil {
		err = &CallError{d.name, name, err}
	}
	return said, err
}

// judge returns the response of a program that has ended.
func judge(out program.Output, err error) (answer, error) {
	_, exited := errors.AsType[*exec.ExitError](err)
	if err != nil && !exited {
		return answer{}, err
	}
	said := answer{Capabilities: defaults()}
	if json.Unmarshal(out.Stdout, &said) != nil {
		return answer{}, fmt.Errorf("%sits response must be JSON, and is %q (%d bytes on stderr)", prefix(err), clip(string(out.Stdout)), out.StderrSize)
	}
	switch {
	case said.Status == unsupported:
		return answer{}, errUnsupported
	case said.Status != success:
		return answer{}, fmt.Errorf("%sstatus %q: %s", prefix(err), clip(said.Status), clip(said.Message))
	case err != nil:
		return answer{}, fmt.Errorf("%w, but its response has the status Success", err)
	}
	return said, nil
}

func prefix(err error) string {
	if err == nil {
		return ""
	}
	return err.Error() + ", "
}

func clip(s string) string {
	if s = strings.TrimSpace(s); len(s) <= maxMessage {
		return s
	}
	return strings.ToValidUTF8(s[:maxMessage], "") + "…"
}
