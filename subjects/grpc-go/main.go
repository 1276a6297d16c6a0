// The subject grpc-go: the echo service of `ringside serve`, and the methods by which gRPC is
// compared with REST and batches with streams, on the official gRPC library.
package main

import (
	"context"
	"flag"
	"io"
	"log"
	"net"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"ringside/subjects/grpc-go/orders"
	"ringside/subjects/grpc-go/records"
	"ringside/subjects/grpc-go/ringside"
)

type echo struct {
	ringside.UnimplementedEchoServer
}

func (echo) Echo(_ context.Context, message *ringside.Message) (*ringside.Message, error) {
	return message, nil
}

func (echo) EchoClientStream(stream grpc.ClientStreamingServer[ringside.Message, ringside.Message]) error {
	last := &ringside.Message{}
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(last)
		}
		if err != nil {
			return err
		}
		last = message
	}
}

func (echo) EchoServerStream(message *ringside.Message, stream grpc.ServerStreamingServer[ringside.Message]) error {
	for range max(message.Count, 1) {
		if err := stream.Send(message); err != nil {
			return err
		}
	}
	return nil
}

func (echo) EchoBidirectional(stream grpc.BidiStreamingServer[ringside.Message, ringside.Message]) error {
	for {
		message, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := stream.Send(message); err != nil {
			return err
		}
	}
}

type pricing struct {
	orders.UnimplementedOrdersServer
}

func (pricing) Price(_ context.Context, order *orders.Order) (*orders.Order, error) {
	order.Total = 0
	for _, item := range order.Items {
		order.Total += float64(item.Quantity) * item.Price
	}
	return order, nil
}

type storing struct {
	records.UnimplementedRecordsServer
}

func (storing) PutBatch(_ context.Context, batch *records.Batch) (*records.Receipt, error) {
	receipt := &records.Receipt{}
	for _, record := range batch.Records {
		add(receipt, record)
	}
	return receipt, nil
}

func (storing) PutStream(stream grpc.ClientStreamingServer[records.Record, records.Receipt]) error {
	receipt := &records.Receipt{}
	for {
		record, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(receipt)
		}
		if err != nil {
			return err
		}
		add(receipt, record)
	}
}

func add(receipt *records.Receipt, record *records.Record) {
	receipt.Count++
	receipt.Sum += record.Value
}

// Lets one call be served at a time: those that come meanwhile wait, as on a single thread.
func oneByOne() grpc.ServerOption {
	var turn sync.Mutex
	return grpc.UnaryInterceptor(func(
		ctx context.Context, request any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler,
	) (any, error) {
		turn.Lock()
		defer turn.Unlock()
		return handle(ctx, request)
	})
}

func main() {
	single := flag.Bool("single", false, "serve one call at a time")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: server [-single] HOST:PORT")
	}
	listener, err := net.Listen("tcp", flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	var options []grpc.ServerOption
	if *single {
		options = append(options, oneByOne())
	}
	server := grpc.NewServer(options...)
	ringside.RegisterEchoServer(server, echo{})
	orders.RegisterOrdersServer(server, pricing{})
	records.RegisterRecordsServer(server, storing{})
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	log.Fatal(server.Serve(listener))
}
