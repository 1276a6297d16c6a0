package subject;

import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import ringside.EchoGrpc;
import ringside.Ringside.Message;
import ringside.greeter.GreeterGrpc;
import ringside.greeter.HelloRequest;
import ringside.greeter.HelloResponse;

/**
 * The subjects grpc-java and grpc-java-pool: the unary echo of {@code ringside serve} and the
 * greeting of grpc-go, from a pool of threads.
 */
public final class Server {
    private static final int THREADS = 16;

    private Server() {}

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        int threads = arguments.length > 1 ? Integer.parseInt(arguments[1]) : THREADS;
        Executor pool = Executors.newFixedThreadPool(threads);
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", port))
                .executor(pool)
                .addService(new Echo())
                .addService(new Greeter(pool, new FileOutputStream("/dev/null")))
                .build()
                .start()
                .awaitTermination();
    }

    private static final class Echo extends EchoGrpc.EchoImplBase {
        @Override
        public void echo(Message message, StreamObserver<Message> answer) {
            answer.onNext(message);
            answer.onCompleted();
        }
    }

    private static final class Greeter extends GreeterGrpc.GreeterImplBase {
        private static final long WAIT_MS = 1;
        private static final DateTimeFormatter TIME =
                DateTimeFormatter.ofPattern("yyyy/MM/dd HH:mm:ss ");
        private final Executor pool;
        private final OutputStream log;

        Greeter(Executor pool, OutputStream log) {
            this.pool = pool;
            this.log = log;
        }

        @Override
        public void sayHello(HelloRequest request, StreamObserver<HelloResponse> answer) {
            try {
                Thread.sleep(WAIT_MS);
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
            pool.execute(() -> write("handled beside the answer: " + request.getName()));
            answer.onNext(HelloResponse.newBuilder().setMessage("Hello " + request.getName()).build());
            answer.onCompleted();
        }

        private void write(String text) {
            String line = TIME.format(LocalDateTime.now()) + text + "\n";
            try {
                log.write(line.getBytes(StandardCharsets.UTF_8));
            } catch (IOException failed) {
                throw new IllegalStateException(failed);
            }
        }
    }
}
