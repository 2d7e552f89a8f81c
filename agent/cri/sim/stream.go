package sim

import (
	"slices"

	"google.golang.org/grpc"
)

// streamBatch is how many items one message of a streamed list has.
const streamBatch = 100

// streamed responds with a list in several messages.
func streamed[T, M any](s *Server, method string, to grpc.ServerStreamingServer[M], list func() []T, message func(batch []T) *M) error {
	all, err := quick(to.Context(), s, method, subject{}, func() (*[]T, error) { return new(list()), nil })
	if err != nil {
		return err
	}
	for batch := range slices.Chunk(*all, streamBatch) {
		if err := to.Send(message(batch)); err != nil {
			return err
		}
	}
	return nil
}
