package subject;

import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;
import ringside.EchoGrpc;
import ringside.Ringside.Message;

/** The subject grpc-java: the unary echo of {@code ringside serve}, from a pool of threads. */
public final class Server {
    private static final int THREADS = 16;

    private Server() {}

    public static void main(String[] arguments) throws Exception {
        int port = Integer.parseInt(arguments[0]);
        NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", port))
                .executor(Executors.newFixedThreadPool(THREADS))
                .addService(new Echo())
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
}
