//go:build !linux

package clock

import "context"

func await(ctx context.Context) { Sleep(ctx, Look) }
