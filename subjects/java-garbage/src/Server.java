// The subject java-garbage: a constant answer for which each request makes garbage, so that what
// the collectors cost can be seen.

import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

public final class Server {
    private static final int PIECE_BYTES = 1 << 10;
    private static final int PIECES = 64;
    private static final byte[] HELLO = "Hello, World!".getBytes(StandardCharsets.US_ASCII);

    /** What is alive is found anew by each collection. */
    private static final byte[][] ALIVE = new byte[(32 << 20) / PIECE_BYTES][];

    public static void main(String[] arguments) throws Exception {
        for (int at = 0; at < ALIVE.length; at++) {
            ALIVE[at] = new byte[PIECE_BYTES];
        }
        int port = Integer.parseInt(arguments[0]);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 4096);
        server.createContext("/", exchange -> {
            byte[][] garbage = new byte[PIECES][];
            for (int at = 0; at < PIECES; at++) {
                garbage[at] = new byte[PIECE_BYTES];
            }
            // Somebody has to hold it for a moment, or the compiler leaves it out.
            ALIVE[garbage.length] = garbage[0];
            exchange.getResponseHeaders().set("Content-Type", "text/plain");
            exchange.sendResponseHeaders(200, HELLO.length);
            exchange.getResponseBody().write(HELLO);
            exchange.close();
        });
        server.start();
    }
}
