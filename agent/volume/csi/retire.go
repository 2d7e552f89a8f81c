package csi

import (
	"context"

	"google.golang.org/grpc"
)

// countCalls counts the calls in progress.
func (d *driver) countCalls(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	d.mu.Lock()
	d.calls++
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		d.calls--
		d.mu.Unlock()
		d.close()
	}()
	return invoke(ctx, method, req, reply, cc, opts...)
}

// retire ends the connection to a driver that is not registered any more, or has registered again. Calls in progress go on: a driver whose
// registrar restarts may be creating a file system.
//
// Upstream: pkg/volume/csi/csi_client.go, which has a connection for each call.
func (d *driver) retire() {
	d.mu.Lock()
	d.retired = true
	d.mu.Unlock()
	d.close()
}

// close closes the connection of a retired driver without calls.
func (d *driver) close() {
	d.mu.Lock()
	idle := d.retired && d.calls == 0
	d.mu.Unlock()
	if idle {
		_ = d.conn.Close() // further times change nothing
	}
}
