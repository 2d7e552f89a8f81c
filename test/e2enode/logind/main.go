// Command logind stands in for systemd-logind on the machine of the tests. Kubernetes' tests of a graceful shutdown do not shut the machine down:
// they send logind's announcement themselves, and close their connection at once. kubeloupe acts on announcements of logind only, so this program
// is logind, and sends what the tests send.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	name         = "org.freedesktop.login1"
	path         = dbus.ObjectPath("/org/freedesktop/login1")
	manager      = "org.freedesktop.login1.Manager"
	announcement = "PrepareForShutdown"
	// delay is as long as any test wants logind to wait.
	delay = time.Hour
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "logind:", err)
		os.Exit(1)
	}
}

// run is logind until ctx or the bus ends.
func run(ctx context.Context) error {
	conn, err := dbus.ConnectSystemBus(dbus.WithContext(ctx))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // the process ends
	if err := serve(ctx, conn); err != nil {
		return err
	}
	announced := make(chan *dbus.Signal, 16)
	conn.Signal(announced)
	err = conn.AddMatchSignalContext(ctx, dbus.WithMatchInterface(manager), dbus.WithMatchMember(announcement), dbus.WithMatchObjectPath(path))
	if err != nil {
		return err
	}
	own := conn.Names()[0]
	for s := range announced {
		if s.Name != manager+"."+announcement || s.Sender == own {
			continue
		}
		fmt.Fprintln(os.Stderr, announcement, s.Body, "of", s.Sender)
		if err := conn.Emit(path, s.Name, s.Body...); err != nil {
			return err
		}
	}
	return nil
}

// serve answers what kubelets ask logind, and takes its name.
func serve(ctx context.Context, conn *dbus.Conn) error {
	// The lock is a pipe that nobody reads: the machine is not shut down.
	inhibit := func(_, _, _, _ string) (dbus.UnixFD, *dbus.Error) {
		_, lock, err := os.Pipe()
		if err != nil {
			return 0, dbus.MakeFailedError(err)
		}
		context.AfterFunc(ctx, func() { _ = lock.Close() })
		return dbus.UnixFD(lock.Fd()), nil
	}
	get := func(_, property string) (dbus.Variant, *dbus.Error) {
		switch property {
		case "InhibitDelayMaxUSec":
			return dbus.MakeVariant(uint64(delay / time.Microsecond)), nil
		case "PreparingForShutdown":
			return dbus.MakeVariant(false), nil
		}
		return dbus.Variant{}, dbus.MakeFailedError(fmt.Errorf("no property %s", property))
	}
	if err := conn.ExportMethodTable(map[string]any{"Inhibit": inhibit}, path, manager); err != nil {
		return err
	}
	if err := conn.ExportMethodTable(map[string]any{"Get": get}, path, "org.freedesktop.DBus.Properties"); err != nil {
		return err
	}
	got, err := conn.RequestName(name, dbus.NameFlagDoNotQueue)
	if err == nil && got != dbus.RequestNameReplyPrimaryOwner {
		err = fmt.Errorf("%s has another owner: stop systemd-logind first", name)
	}
	return err
}
