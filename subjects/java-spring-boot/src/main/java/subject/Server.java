package subject;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.http.MediaType;
import org.springframework.http.ResponseEntity;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

/** The subject java-spring-boot: constant answers, one that waits, one out of a shop's stock. */
@SpringBootApplication
@RestController
public class Server {
    /** Something that the shop sells. */
    record Item(int id, String name, int price, int stock, String currency) {
        static Item of(int id) {
            return new Item(id, "Item " + id, 1000 + id * 37 % 9000, id % 13, "EUR");
        }
    }

    private static final byte[] HELLO = "Hello, World!".getBytes(StandardCharsets.UTF_8);
    private static final byte[] STATUS = "{\"status\":\"ok\"}".getBytes(StandardCharsets.UTF_8);
    private static final byte[] WAITED = "waited\n".getBytes(StandardCharsets.UTF_8);

    private final Map<Integer, Item> items =
            IntStream.rangeClosed(1, 1000)
                    .mapToObj(Item::of)
                    .collect(Collectors.toMap(Item::id, Function.identity()));

    private final ObjectMapper encoder;

    Server(ObjectMapper encoder) {
        this.encoder = encoder;
    }

    public static void main(String[] arguments) {
        SpringApplication.run(Server.class, arguments);
    }

    @GetMapping("/")
    ResponseEntity<byte[]> hello() {
        return ResponseEntity.ok().contentType(MediaType.TEXT_PLAIN).body(HELLO);
    }

    @GetMapping("/json")
    ResponseEntity<byte[]> status() {
        return ResponseEntity.ok().contentType(MediaType.APPLICATION_JSON).body(STATUS);
    }

    @GetMapping("/wait10")
    ResponseEntity<byte[]> wait10() throws InterruptedException {
        Thread.sleep(10);
        return ResponseEntity.ok().contentType(MediaType.TEXT_PLAIN).body(WAITED);
    }

    /** Encoded here and not by the framework, which would send it in chunks of unknown length. */
    @GetMapping("/shop/item/{id}")
    ResponseEntity<byte[]> item(@PathVariable int id) throws JsonProcessingException {
        Item item = items.get(id);
        if (item == null) {
            return ResponseEntity.notFound().build();
        }
        byte[] body = encoder.writeValueAsBytes(item);
        return ResponseEntity.ok().contentType(MediaType.APPLICATION_JSON).body(body);
    }
}
