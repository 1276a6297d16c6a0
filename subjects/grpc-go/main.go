// The subject grpc-go: the echo service of `ringside serve`, and the methods by which gRPC is
// compared with REST, batches with streams, encodings with each other, and a goroutine for each
// call with other ways to run it, on the official gRPC library.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"os"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/gzip" // For clients that compress, which are answered so.
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"ringside/subjects/grpc-go/greeter"
	"ringside/subjects/grpc-go/orders"
	"ringside/subjects/grpc-go/records"
	"ringside/subjects/grpc-go/ringside"
	"ringside/subjects/grpc-go/users"
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

// An echo that makes a message of its own for the answer.
type newEcho struct {
	echo
}

func (newEcho) Echo(_ context.Context, message *ringside.Message) (*ringside.Message, error) {
	return &ringside.Message{Text: message.Text}, nil
}

// How long a greeting waits, as a call does that asks somebody else.
const wait = time.Millisecond

type greeting struct {
	greeter.UnimplementedGreeterServer
	log *log.Logger
}

func (g greeting) SayHello(
	_ context.Context, request *greeter.HelloRequest,
) (*greeter.HelloResponse, error) {
	time.Sleep(wait)
	go func() {
		g.log.Printf("handled beside the answer: %s", request.Name)
	}()
	return &greeter.HelloResponse{Message: "Hello " + request.Name}, nil
}

type keeping struct {
	users.UnimplementedUsersServer
}

func (keeping) Echo(_ context.Context, user *users.User) (*users.User, error) {
	return user, nil
}

func (keeping) EchoAll(_ context.Context, list *users.UserList) (*users.UserList, error) {
	return list, nil
}

// The codec of calls whose content type is application/grpc+json.
type jsonCodec struct{}

func (jsonCodec) Name() string                              { return "json" }
func (jsonCodec) Marshal(message any) ([]byte, error)       { return json.Marshal(message) }
func (jsonCodec) Unmarshal(bytes []byte, message any) error { return json.Unmarshal(bytes, message) }

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
	maxStreams := flag.Uint("max-streams", 0, "at most so many calls on a connection; 0: no limit")
	newAnswer := flag.Bool("new-answer", false, "make a message of its own for each echo")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: server [-single] [-max-streams N] [-new-answer] HOST:PORT")
	}
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", flag.Arg(0))
	if err != nil {
		log.Fatal(err)
	}
	var options []grpc.ServerOption
	if *single {
		options = append(options, oneByOne())
	}
	if *maxStreams > 0 {
		options = append(options, grpc.MaxConcurrentStreams(uint32(*maxStreams)))
	}
	encoding.RegisterCodec(jsonCodec{})
	server := grpc.NewServer(options...)
	if *newAnswer {
		ringside.RegisterEchoServer(server, newEcho{})
	} else {
		ringside.RegisterEchoServer(server, echo{})
	}
	greeter.RegisterGreeterServer(server, greeting{log: log.New(nowhere, "", log.LstdFlags)})
	users.RegisterUsersServer(server, keeping{})
	orders.RegisterOrdersServer(server, pricing{})
	records.RegisterRecordsServer(server, storing{})
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	log.Fatal(server.Serve(listener))
}
