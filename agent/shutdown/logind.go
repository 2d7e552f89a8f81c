package shutdown

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"

	"github.com/kubeloupe/kubeloupe/agent/wholefile"
)

// logind's names on the bus.
//
// Upstream: pkg/kubelet/nodeshutdown/systemd/inhibit_linux.go.
const (
	logindName      = "org.freedesktop.login1"
	logindPath      = dbus.ObjectPath("/org/freedesktop/login1")
	logindInterface = "org.freedesktop.login1.Manager"
	announcement    = "PrepareForShutdown"
)

const (
	// dropIn configures logind. Upstream's name, so that either agent replaces the other's file.
	dropIn = "/etc/systemd/logind.conf.d/99-kubelet.conf"
	// callLimit is how long logind may take to answer.
	callLimit = 10 * time.Second
)

// Bus is the system bus, and where logind's configuration is. The zero value is that of the machine.
type Bus struct {
	// Address is the bus; "" means the system bus ($DBUS_SYSTEM_BUS_ADDRESS, or its usual socket).
	Address string
	// DropIn is the file that configures logind; "" means /etc/systemd/logind.conf.d/99-kubelet.conf.
	DropIn string
}

// Connect connects to logind. The connection ends with ctx.
func (b Bus) Connect(ctx context.Context) (Logind, error) {
	opts := []dbus.ConnOption{
		dbus.WithContext(ctx),
		dbus.WithAuth(dbus.AuthExternal(strconv.Itoa(os.Getuid()))), // the UID, not the name: nothing is looked up
	}
	connect := dbus.ConnectSystemBus
	if b.Address != "" {
		connect = func(opts ...dbus.ConnOption) (*dbus.Conn, error) { return dbus.Connect(b.Address, opts...) }
	}
	conn, err := connect(opts...)
	if err != nil {
		return nil, err
	}
	l := &logind{conn: conn, object: conn.Object(logindName, logindPath), dropIn: b.DropIn, announced: make(chan bool, 8)}
	if l.dropIn == "" {
		l.dropIn = dropIn
	}
	signals := make(chan *dbus.Signal, 64)
	conn.Signal(signals)
	err = conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(logindName), dbus.WithMatchInterface(logindInterface),
		dbus.WithMatchMember(announcement), dbus.WithMatchObjectPath(logindPath))
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("listen for %s: %w", announcement, err)
	}
	go l.listen(ctx, signals)
	return l, nil
}

// logind implements Logind.
type logind struct {
	conn      *dbus.Conn
	object    dbus.BusObject
	dropIn    string
	announced chan bool
}

// listen passes on logind's announcements until the connection ends. Every user of the machine can send a signal with the same name: one that
// is not from logind is ignored.
func (l *logind) listen(ctx context.Context, signals <-chan *dbus.Signal) {
	defer close(l.announced)
	for s := range signals {
		if s.Name != logindInterface+"."+announcement || len(s.Body) != 1 || !l.isLogind(ctx, s.Sender) {
			continue
		}
		if down, ok := s.Body[0].(bool); ok {
			select {
			case l.announced <- down:
			case <-l.conn.Context().Done():
			}
		}
	}
}

// isLogind reports whether a name of a connection is logind's.
func (l *logind) isLogind(ctx context.Context, sender string) bool {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var owner string
	err := l.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, logindName).Store(&owner)
	return err == nil && owner == sender
}

// Announced implements Logind.
func (l *logind) Announced() <-chan bool { return l.announced }

// Close implements Logind.
func (l *logind) Close() error { return l.conn.Close() }

// Delay implements Logind.
func (l *logind) Delay(ctx context.Context) (time.Duration, error) {
	var us uint64
	err := l.property(ctx, "InhibitDelayMaxUSec", &us)
	const most = uint64(1<<63-1) / uint64(time.Microsecond)
	return time.Duration(min(us, most)) * time.Microsecond, err
}

// Preparing implements Logind.
func (l *logind) Preparing(ctx context.Context) (down bool, err error) {
	err = l.property(ctx, "PreparingForShutdown", &down)
	return down, err
}

func (l *logind) property(ctx context.Context, name string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var value dbus.Variant
	err := l.object.CallWithContext(ctx, "org.freedesktop.DBus.Properties.Get", 0, logindInterface, name).Store(&value)
	if err == nil {
		err = value.Store(into)
	}
	if err != nil {
		return fmt.Errorf("read %s of logind: %w", name, err)
	}
	return nil
}

// Inhibit implements Logind.
func (l *logind) Inhibit(ctx context.Context) (io.Closer, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	var fd dbus.UnixFD
	err := l.object.CallWithContext(ctx, logindInterface+".Inhibit", 0, "shutdown", "kubelet", "Kubelet needs time to handle node shutdown", "delay").Store(&fd)
	if err != nil {
		return nil, err
	}
	syscall.CloseOnExec(int(fd)) // a program that outlives the agent must not hold the lock
	return os.NewFile(uintptr(fd), "inhibitor lock"), nil
}

// SetDelay implements Logind: it writes the drop-in, and has systemd signal logind to read its configuration.
func (l *logind) SetDelay(ctx context.Context, d time.Duration) error {
	if err := os.MkdirAll(filepath.Dir(l.dropIn), 0o755); err != nil {
		return fmt.Errorf("configure logind: %w", err)
	}
	text := fmt.Sprintf("# Written by the node's agent (kubelet): shutdowns wait for pods.\n[Login]\nInhibitDelayMaxSec=%.0f\n", d.Seconds())
	if err := wholefile.Write(l.dropIn, []byte(text), 0o644); err != nil {
		return fmt.Errorf("configure logind: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	systemd := l.conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	err := systemd.CallWithContext(ctx, "org.freedesktop.systemd1.Manager.KillUnit", 0, "systemd-logind.service", "all", int32(syscall.SIGHUP)).Err
	if err != nil {
		return fmt.Errorf("have logind read its configuration: %w", err)
	}
	return nil
}
