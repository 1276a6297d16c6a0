package subject;

import java.nio.charset.StandardCharsets;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.dao.DataAccessException;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestBody;
import org.springframework.web.bind.annotation.RestController;

/** The subject orders-java: takes orders over HTTP, and stores them in the threads of a pool. */
@SpringBootApplication
@RestController
public class Orders {
    /** What a client sends. */
    record Order(String customer, String item, int quantity, long cents) {}

    private static final byte[] ACCEPTED =
            "{\"accepted\":true}".getBytes(StandardCharsets.UTF_8);

    /** Orders that wait for a thread before a request has to store its own. */
    private static final int QUEUED = 1024;

    /** As many as there are connections to the database. */
    private static final int THREADS = 10;

    /** How often storing an order is tried again, and after which pause. */
    private static final int RETRIES = 3;

    private static final long RETRY_PAUSE_MS = 10;

    private final ExecutorService pool =
            new ThreadPoolExecutor(
                    THREADS,
                    THREADS,
                    0,
                    TimeUnit.SECONDS,
                    new ArrayBlockingQueue<>(QUEUED),
                    new ThreadPoolExecutor.CallerRunsPolicy());

    private final JdbcTemplate database;
    private final AtomicLong stored = new AtomicLong();
    private final AtomicLong lost = new AtomicLong();

    Orders(JdbcTemplate database) {
        this.database = database;
        database.execute("CREATE DATABASE IF NOT EXISTS shop");
        database.execute(
                "CREATE OR REPLACE TABLE shop.orders (id BIGINT PRIMARY KEY AUTO_INCREMENT, "
                        + "customer VARCHAR(32) NOT NULL, item VARCHAR(32) NOT NULL, "
                        + "quantity INT NOT NULL, cents BIGINT NOT NULL)");
    }

    public static void main(String[] arguments) {
        SpringApplication.run(Orders.class, arguments);
    }

    @PostMapping("/orders")
    ResponseEntity<byte[]> take(@RequestBody Order order) {
        pool.execute(() -> save(order));
        return ResponseEntity.accepted().contentType(MediaType.APPLICATION_JSON).body(ACCEPTED);
    }

    @GetMapping("/health")
    ResponseEntity<Void> health() {
        return ResponseEntity.noContent().build();
    }

    @GetMapping("/metrics")
    ResponseEntity<String> metrics() {
        String text =
                "# TYPE orders_total counter\n"
                        + "orders_total{end=\"stored\"} " + stored + "\n"
                        + "orders_total{end=\"lost\"} " + lost + "\n";
        return ResponseEntity.ok().contentType(MediaType.TEXT_PLAIN).body(text);
    }

    /** Stores an order, and tries again if that fails. */
    private void save(Order order) {
        for (int attempt = 0; attempt <= RETRIES; attempt++) {
            try {
                database.update(
                        "INSERT INTO shop.orders (customer, item, quantity, cents)"
                                + " VALUES (?, ?, ?, ?)",
                        order.customer(),
                        order.item(),
                        order.quantity(),
                        order.cents());
                stored.incrementAndGet();
                return;
            } catch (DataAccessException failed) {
                if (!pause()) {
                    break;
                }
            }
        }
        lost.incrementAndGet();
    }

    /** Waits before the next attempt, unless the program ends. */
    private static boolean pause() {
        try {
            Thread.sleep(RETRY_PAUSE_MS);
            return true;
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
