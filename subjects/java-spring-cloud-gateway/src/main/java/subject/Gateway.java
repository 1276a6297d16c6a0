package subject;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The subject java-spring-cloud-gateway: all that it does is said in application.properties. */
@SpringBootApplication
public class Gateway {
    public static void main(String[] arguments) {
        SpringApplication.run(Gateway.class, arguments);
    }
}
